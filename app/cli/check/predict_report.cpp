#include "app/cli/check/predict_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "app/backend/counted_work.h"
#include "app/cli/common.h"
#include "base/format.h"

namespace gs::cli {
namespace {

Json ms_json(const PredictedMs& ms) {
    return {{"p10", number(ms.p10)}, {"p50", number(ms.p50)}, {"p90", number(ms.p90)}};
}

/// Rows of a frame's and a step's stages side by side.
Json stage_rows(const Json& gpu) {
    const auto of_stage = [](const Json& prediction, const Json& name) -> Json {
        if (name == "all") return {{"ms", prediction["ms"]}, {"bound", nullptr}};
        for (const Json& stage : prediction["stages"])
            if (stage["name"] == name)
                return {{"ms", stage["ms"]},
                        {"bound", stage["bound_by"].get<std::string>() +
                                      (stage["counted"] == true ? "" : " (not all counted)")}};
        return {{"ms", ms_json({})}, {"bound", nullptr}};
    };
    std::vector<std::string> names;
    for (const char* what : {"frame", "step"})
        for (const Json& stage : gpu[what]["stages"])
            if (const std::string name = stage["name"]; std::ranges::count(names, name) == 0)
                names.push_back(name);
    names.push_back("all");
    Json rows = Json::array();
    for (const std::string& name : names)
        rows.push_back({{"name", name},
                        {"frame", of_stage(gpu["frame"], name)},
                        {"step", of_stage(gpu["step"], name)}});
    return rows;
}

}  // namespace

Json warps_json(const WarpWork& work) {
    return {{"batches", work.batches},
            {"group_tests", work.group_tests},
            {"near", work.near},
            {"open", work.open},
            {"live_isects", work.live_isects},
            {"live_sub_tiles", work.live_sub_tiles}};
}

Json prediction_json(const Prediction& prediction) {
    Json stages = Json::array();
    for (const PredictedStage& s : prediction.stages) {
        Json share;
        for (std::size_t r = 0; r < kGpuResources; ++r)
            share[name_of(static_cast<GpuResource>(r))] = number(s.share[r]);
        stages.push_back({{"name", name_of(s.stage)},
                          {"ms", ms_json(s.ms)},
                          {"bound_by", name_of(s.bound_by)},
                          {"share", std::move(share)},
                          {"counted", s.counted}});
    }
    return {{"ms", ms_json(prediction.total)},
            {"memory_bytes", number(prediction.memory_bytes)},
            {"fits", prediction.fits},
            {"stages", std::move(stages)}};
}

Json predictions_json(const PredictSubject& subject, const PredictedWork& work,
                      const std::vector<GpuDevice>& gpus) {
    Json counts = json_of_work(work);
    counts.erase("isects_and_pairs_of_tiles");
    const ModelFit& fit = published_fit();
    Json out{{"command", "predict"},
             {"tag", "predicted"},
             {"scene", subject.scene},
             {"counted_by", subject.backend.empty() ? Json(nullptr) : Json(subject.backend)},
             {"views", subject.views},
             {"width", subject.width},
             {"height", subject.height},
             {"sizes_differ", subject.sizes_differ},
             {"batch", work.batch},
             {"refine_poses", work.poses},
             {"refine_intrinsics", work.intrinsics},
             {"appearance", work.look},
             {"sky", work.sky},
             {"counts", std::move(counts)},
             {"model",
              {{"issue_use", fit.issue_use},
               {"bandwidth_use", fit.bandwidth_use},
               {"memory_log_sd", fit.memory_log_sd},
               {"instruction_log_sd", fit.instruction_log_sd},
               {"latency_log_sd", fit.latency_log_sd}}}};
    const KernelCosts costs = KernelCosts::built_in();
    Json all = Json::array();
    for (const GpuDevice& gpu : gpus)
        all.push_back({{"gpu", gpu.id},
                       {"name", gpu.name},
                       {"memory_gb", gpu.memory_gb},
                       {"frame", prediction_json(predict_frame(work, costs, gpu, fit))},
                       {"step", prediction_json(predict_step(work, costs, gpu, fit))}});
    out["predictions"] = std::move(all);
    return out;
}

void say_predictions(const Json& out) {
    constexpr Column kStages[] = {{"stage", "{name}", true},
                                  {"frame ms", "{frame.ms.p50:.3f}"},
                                  {"P10 .. P90", "{frame.ms.p10:.3f} .. {frame.ms.p90:.3f}"},
                                  {"bound by", "{frame.bound}", true},
                                  {"step ms", "{step.ms.p50:.3f}"},
                                  {"P10 .. P90", "{step.ms.p10:.3f} .. {step.ms.p90:.3f}"},
                                  {"bound by", "{step.bound}", true}};
    if (out["views"] != 0)
        say(out["sizes_differ"] == true
                ? "{scene}: {views} views of up to {width} x {height}, counted by {counted_by}"
                : "{scene}: {views} views of {width} x {height}, counted by {counted_by}",
            out);
    else
        say("{scene}: counts from a file", out);
    say("N {gaussians:rate}  V {visible:rate}  I {isects:rate}  warps: near {near:rate}, open "
        "{open:rate}, live isects {live_isects:rate}",
        out["counts"]);
    if (out["counts"]["lens"] == true) fmt::print("through lenses, not pinholes\n");
    if (out["counts"]["unscented"] == true)
        fmt::print("seven points per Gaussian (--projection ut)\n");
    if (out["counts"].contains("beams"))
        say("lidar: {rays:rate} beams per step in {tiles:rate} tiles, {pairs:rate} pairs with "
            "{listed:rate} Gaussians",
            out["counts"]["beams"]);
    if (out["counts"].contains("beams") && out["counts"]["beams"]["every"] > 1)
        say("a step's time is the mean of {every:.0f} steps, of which one has beams",
            out["counts"]["beams"]);
    for (const Json& gpu : out["predictions"]) {
        say("\n{name} ({gpu}), predicted:", gpu);
        say_table(stage_rows(gpu), kStages, {"  "});
        for (const char* what : {"frame", "step"})
            if (gpu[what]["fits"] == false)
                fmt::print("  a {} does not fit this GPU's memory: it takes about {} of {:g} GB\n",
                           what, format_bytes(gpu[what]["memory_bytes"].get<double>()),
                           gpu["memory_gb"].get<double>());
    }
    fmt::print(
        "\npredicted, not measured: one time in ten it takes less than P10, one in ten more than "
        "P90 (docs/model.md)\n");
}

Json predicted_beside(std::span<const StageStats> measured, const PredictedWork& work,
                      const NamedDevice& device) {
    const std::vector<GpuDevice> gpus = gpu_devices();
    const GpuDevice* gpu =
        device.name.empty() ? nullptr : gpu_called(gpus, device.name, device.multiprocessors);
    if (gpu == nullptr)
        return {
            {"gpu", nullptr},
            {"why", device.name.empty() ? Json("this machine computes on no GPU; use `gausscope "
                                               "predict` to predict for others")
                                        : Json(fmt::format("no figures for \"{}\" with "
                                                           "{} multiprocessors: docs/model.md "
                                                           "says how to add them",
                                                           device.name, device.multiprocessors))}};
    const Prediction prediction = predict(work, KernelCosts::built_in(), *gpu, published_fit());
    Json rows = Json::array();
    for (const PredictedStage& s : prediction.stages)
        for (const StageStats& row : measured)
            if (row.stage == s.stage)
                rows.push_back({{"name", name_of(s.stage)},
                                {"measured_ms", number(row.p50_ms)},
                                {"predicted_ms", ms_json(s.ms)},
                                {"bound_by", name_of(s.bound_by)},
                                {"error", number(s.ms.p50 / row.p50_ms - 1)}});
    return {{"gpu", gpu->id}, {"name", gpu->name}, {"stages", std::move(rows)}};
}

void say_predicted_beside(const Json& beside) {
    if (beside["gpu"].is_null()) return say("\nnot predicted: {why}", beside);
    constexpr Column kRows[] = {{"stage", "{name}", true},
                                {"measured ms", "{measured_ms:.3f}"},
                                {"predicted", "{predicted_ms.p50:.3f}"},
                                {"P10 .. P90", "{predicted_ms.p10:.3f} .. {predicted_ms.p90:.3f}"},
                                {"error", "{error:percent}"},
                                {"bound by", "{bound_by}", true}};
    say("\n{name}: measured and predicted", beside);
    say_table(beside["stages"], kRows);
}

Json tell_devices(const std::vector<GpuDevice>& gpus) {
    using Row = GpuDevice;
    const Table table = table_of<Row>(
        std::span(gpus),
        {{"gpu", "--gpu", nullptr, &Row::id},
         {"name", "name", nullptr, &Row::name},
         {"architecture", "", nullptr, [](auto& gpu) { return gpu.architecture.name; }},
         {"code", "", nullptr, [](auto& gpu) { return gpu.architecture.code; }},
         {"multiprocessors", "SMs", fixed<0>, &Row::multiprocessors},
         {"clock_ghz", "GHz", fixed<2>, &Row::clock_ghz},
         {"memory_gb", "", nullptr, &Row::memory_gb},
         {"bandwidth_gb_s", "GB/s", fixed<0>, &Row::bandwidth_gb_s},
         {"sustained_gb_s", "sustained", fixed<0>, &Row::sustained_gb_s},
         {"l2_mb", "L2 MB", significant<6>, &Row::l2_mb},
         {"l2_latency", "", nullptr, &Row::l2_latency},
         {"memory_latency", "", nullptr, &Row::memory_latency},
         {"", "GB", significant<6>, &Row::memory_gb},
         {"", "code of", nullptr,
          [](auto& gpu) { return fmt::format("sm_{}", gpu.architecture.code); }}});
    say_table(table);
    fmt::print("--list --json has the source of every figure; docs/model.md how to add a GPU\n");
    Json out{{"command", "predict"}, {"gpus", table_json(table)}};
    for (std::size_t i = 0; i < gpus.size(); ++i) out["gpus"][i]["sources"] = gpus[i].sources;
    return out;
}

Json tell_validation(const ModelValidation& validation,
                     const std::vector<ComparedStage>& measured) {
    static constexpr const char* kKinds[] = {"throughput", "fixed", "ratio"};
    static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    using Published = ValidatedTime;
    const Table rows = table_of<Published>(
        std::span(validation.rows),
        {{"id", "", nullptr, [](auto& v) { return v.row.id; }},
         {"kind", "", nullptr, [](auto& v) { return kKinds[static_cast<int>(v.row.kind)]; }},
         {"what", "published", nullptr, [](auto& v) { return v.row.what; }},
         {"gpu", "GPU", nullptr, [](auto& v) { return v.row.gpu; }},
         {"published", "ms or ratio", significant<3>, [](auto& v) { return v.row.published; }},
         {"predicted", "predicted", significant<3>, &Published::predicted},
         {"least", "", nullptr, &Published::least},
         {"most", "", nullptr, &Published::most},
         {"error", "error", format_share,
          [](auto& v) { return v.predicted / v.row.published - 1; }},
         {"source", "", nullptr, [](auto& v) { return v.row.source; }},
         {"missed", "missed because", nullptr,
          [](auto& v) { return v.row.miss.empty() ? TableCell(kNone) : TableCell(v.row.miss); }}});
    using Ours = ComparedStage;
    const Table ours = table_of<Ours>(
        std::span(measured),
        {{"what", "measured", nullptr, &Ours::what},
         {"work", "work", nullptr, &Ours::kind},
         {"gpu", "GPU", nullptr, &Ours::gpu},
         {"stage", "stage", nullptr, [](auto& row) { return name_of(row.measured.stage); }},
         {"measured_ms", "ms", fixed<3>, [](auto& row) { return row.measured.ms; }},
         {"blind_ms", "predicted blind", fixed<3>, [](auto& row) { return row.measured.blind; }},
         {"predicted_ms", "predicted now", fixed<3>,
          [](auto& row) { return row.replaced ? kNone : row.now; }},
         {"error", "error", format_share,
          [](auto& row) { return row.replaced ? kNone : row.now / row.measured.ms - 1; }}});
    const Json out{{"command", "predict"},
                   {"rows", table_json(rows)},
                   {"measured", table_json(ours)},
                   {"bandwidth_use", validation.fit.bandwidth_use},
                   {"memory_log_sd", validation.fit.memory_log_sd},
                   {"instruction_log_sd", validation.fit.instruction_log_sd},
                   {"instruction_rows_log_sd", validation.instruction_rows_log_sd},
                   {"log_sd_with_misses", validation.log_sd_with_misses}};
    fmt::print("{}\n{}\n", table_text(rows), table_text(ours));
    say("published times: each predicted from a fit to the others. Bands of predictions (log): "
        "limited by memory {memory_log_sd:.2f}, the spread of its rows ({log_sd_with_misses:.2f} "
        "with those missed); limited by instructions {instruction_log_sd:.2f}, of which one row "
        "({instruction_rows_log_sd:.2f}) does not give the spread",
        out);
    return out;
}

}  // namespace gs::cli
