#include "app/cli/check/selftest_report.h"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <optional>

#include "app/backend/frame_work.h"
#include "app/cli/cases/runs.h"
#include "app/cli/check/bench_report.h"
#include "app/cli/common.h"
#include "app/cli/machine.h"
#include "base/json_write.h"
#include "base/record/scope.h"
#include "base/try.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/predict/validation.h"
#include "renderer/io/images/image_io.h"
#include "trainer/adam/lazy_adam.h"
#include "trainer/trainer.h"

namespace gs::cli {
namespace {

constexpr int kCameras = 8;
constexpr auto kLeastTime = std::chrono::milliseconds(600);
constexpr const char* kSendBack =
    "Please send: this file and the JSON next to it; the output of nvidia-smi -q; and, if the CUDA "
    "toolkit is installed, of compute-sanitizer gausscope selftest --cases --backend cuda, with "
    "--tool memcheck, racecheck, initcheck and synccheck.";

Json interval(const PredictedMs& ms) {
    return {{"p10", number(ms.p10)}, {"p50", number(ms.p50)}, {"p90", number(ms.p90)}};
}
Json stage_prediction(const std::optional<Prediction>& prediction, Stage stage) {
    if (prediction)
        for (const PredictedStage& s : prediction->stages)
            if (s.stage == stage) {
                Json out = interval(s.ms);
                out["bound_by"] = name_of(s.bound_by);
                return out;
            }
    return nullptr;
}

/// Stages of kernels that a frame or step is predicted of: no packing, no transfers.
bool is_predicted(Stage stage) {
    const StageGroup group = group_of(stage);
    return group == StageGroup::forward || group == StageGroup::backward || stage == Stage::loss ||
           stage == Stage::adam;
}

/// Runs `once(i)` and returns the times of its stages. On a GPU "ms" is the sum of its kernels'
/// stages, as predicted; "wall_ms" is the caller's wait.
template <class F>
Json time_stages(int count, bool cuda, const std::optional<Prediction>& prediction, F&& once) {
    TraceStore store;
    // Includes the past: a stream names itself in its first span, made by an earlier frame.
    const auto collector = service::MultiCollector::of_own_ring();
    // Poll that often, until the end of the GPU's work is known.
    const int warm_up = count / 4 + 1;
    const auto begin = std::chrono::steady_clock::now();
    int done = 0;
    for (; done < warm_up + count || std::chrono::steady_clock::now() - begin < kLeastTime;
         ++done) {
        {
            const Span span(Stage::iteration, static_cast<std::uint64_t>(done));
            once(done);
        }
        collector->drain_into(store);
    }
    collector->finish(store);
    const auto history = store.frames().history(StatScope::iteration);
    const auto kept =
        history.last(std::min(history.size(), static_cast<std::size_t>(done - warm_up)));
    const std::vector<StageTime> stages =
        cuda ? gpu_stage_times(kept) : stage_times(kept, Stage::iteration);
    Json out{
        {"ms", nullptr}, {"wall_ms", nullptr}, {"stages", Json::array()}, {"predicted", nullptr}};
    if (prediction) out["predicted"] = interval(prediction->total);
    for (const StageTime& s : stage_times(kept, Stage::iteration))
        if (s.stage == Stage::iteration) out["wall_ms"] = number(s.ms_p50);
    double kernels_ms = 0;
    for (const StageTime& s : stages)
        if (is_predicted(s.stage)) kernels_ms += s.ms_p50;
    if (!cuda)
        out["ms"] = out["wall_ms"];
    else if (kernels_ms > 0)
        out["ms"] = kernels_ms;
    for (const StageTime& s : stages) {
        if (s.stage == Stage::iteration) continue;
        out["stages"].push_back({{"name", s.name},
                                 {"ms", number(s.ms_p50)},
                                 {"ms_lo", number(s.ms_lo)},
                                 {"ms_hi", number(s.ms_hi)},
                                 {"samples", s.samples},
                                 {"predicted", stage_prediction(prediction, s.stage)}});
    }
    return out;
}

Json counters_json(const RenderCounters& c) {
    return {{"gaussians", c.gaussians},
            {"candidates", c.candidates},
            {"visible", c.visible},
            {"isects", c.isects},
            {"list_pairs", c.list_pairs},
            {"evaluated_pairs", c.evaluated_pairs},
            {"blended_pairs", c.blended_pairs},
            {"longest_tile", c.longest_tile},
            {"warps",
             {{"batches", c.warps.batches},
              {"group_tests", c.warps.group_tests},
              {"near", c.warps.near},
              {"open", c.warps.open},
              {"live_isects", c.warps.live_isects},
              {"live_sub_tiles", c.warps.live_sub_tiles}}}};
}

/// A scene, drawn, counted and timed on one backend.
class SceneRun {
  public:
    SceneRun(const Backend& backend, const ReportScene& scene, std::string_view gpu,
             int multiprocessors)
        : backend_(backend), scene_(scene), model_(make_proof_model(scene.scene)) {
        const std::vector<GpuDevice> known =
            backend.cuda ? gpu_devices() : std::vector<GpuDevice>{};
        if (const GpuDevice* found = gpu_called(known, std::string(gpu), multiprocessors))
            gpu_ = *found;
        if (gpu_) costs_ = KernelCosts::built_in();
        for (std::uint64_t i = 0; i < kCameras; ++i)
            cameras_.push_back(make_proof_camera(7, i, scene.width, scene.height));
    }
    Result<Json> run() {
        GS_TRY(rasterizer_, backend_.make_rasterizer());
        Json out{{"name", scene_.name},
                 {"gaussians", model_.count},
                 {"width", scene_.width},
                 {"height", scene_.height}};
        out["counters"] = count();
        out["frame"] = frames();
        GS_TRY(out["step"], steps());
        return out;
    }

  private:
    /// For the first camera; also its picture and the input of the time model.
    Json count() {
        source_ = rasterizer_->source_of(model_);
        state_ = rasterizer_->make_state();
        const RenderOptions options{.depth = false, .counters = true, .warps = true};
        rasterizer_->forward(*source_, cameras_[0], options, *state_, result_);
        work_ = predicted_work(result_, model_.sh_degree, backend_.cuda);
        return counters_json(result_.counters);
    }
    Json frames() {
        std::optional<Prediction> prediction;
        work_.packed = false;  // what is timed comes back as floats
        if (gpu_) prediction = predict_frame(work_, *costs_, *gpu_, published_fit());
        const RenderOptions options{.depth = false, .gradients = false};
        return time_stages(scene_.frames, backend_.cuda, prediction, [&](int i) {
            rasterizer_->forward(*source_, cameras_[static_cast<std::size_t>(i % kCameras)],
                                 options, *state_, result_);
        });
    }
    Result<Json> steps() {
        std::optional<Prediction> prediction;
        if (gpu_) prediction = predict_step(work_, *costs_, *gpu_, published_fit());
        auto capture = std::make_shared<Capture>();
        capture->name = scene_.name;
        const RenderOptions options{.depth = false, .gradients = false};
        for (const Camera& camera : cameras_) {
            View view;
            view.name = fmt::format("{}.png", capture->views.size());
            view.camera = camera;
            rasterizer_->forward(*source_, camera, options, *state_, result_);
            view.photo = to_bytes(result_.color);
            capture->views.push_back(std::move(view));
        }
        state_.reset();
        source_.reset();
        rasterizer_.reset();
        GS_TRY(const auto training, backend_.make_training());
        training->start(capture, new_run(model_));
        return time_stages(scene_.steps, backend_.cuda, prediction, [&](int i) {
            training->step(case_plan(*capture, static_cast<std::size_t>(i % kCameras),
                                     static_cast<std::uint64_t>(i), model_.sh_degree));
        });
    }

    const Backend& backend_;
    const ReportScene& scene_;
    const GaussianModel model_;
    std::optional<GpuDevice> gpu_;
    std::optional<KernelCosts> costs_;  ///< with a GPU
    std::vector<Camera> cameras_;
    std::unique_ptr<Rasterizer> rasterizer_;
    std::unique_ptr<ParameterSource> source_;
    std::unique_ptr<ForwardState> state_;
    RenderResult result_;
    PredictedWork work_;
};

void say_times(const char* what, const Json& times, std::FILE* to) {
    Json rows = times["stages"];
    for (Json& row : rows) {
        const Json& p = row["predicted"];
        row["expected"] =
            p.is_null() ? "-" : filled("{p50:.3f} ({p10:.3f} to {p90:.3f}), {bound_by}", p);
    }
    fmt::print(to, "  {}\n", what);
    if (times["ms"].is_null())
        say("  waited for {wall_ms:.3f} ms; no GPU stages recorded", times, to);
    else
        say("  measured {ms:.3f} ms, waited for {wall_ms:.3f} ms", times, to);
    if (!times["predicted"].is_null())
        say("  predicted {p50:.3f} ms ({p10:.3f} to {p90:.3f})", times["predicted"], to);
    static constexpr Column kColumns[] = {
        {"stage", "{name}", true}, {"measured ms", "{ms:.3f}"},
        {"from", "{ms_lo:.3f}"},   {"to", "{ms_hi:.3f}"},
        {"samples", "{samples}"},  {"predicted ms", "{expected}", true}};
    say_table(rows, kColumns, {.indent = "    ", .to = to});
}

void say_report(const Json& report, std::FILE* to) {
    say_machine(report["machine"], to);
    if (!report["problem"].is_null()) say("\nNot checked: {problem}", report, to);
    if (report.contains("under_way") && !report["under_way"].is_null())
        say("\nNot finished: written before {under_way}, which has not ended", report, to);
    if (!report["checks"].empty()) {
        say("\nChecks: {failed} failed, {absent} absent", report, to);
        static constexpr Column kColumns[] = {{" ", "{verdict}", true},
                                              {"backend", "{backend}", true},
                                              {"check", "{name}", true},
                                              {"measured", "{measured}", true}};
        say_table(report["checks"], kColumns, {.to = to});
    }
    if (!report["ceilings"].is_null()) {
        fmt::print(to, "\nCeilings, measured:\n");
        for (const auto& [name, value] : report["ceilings"].items())
            if (value.is_number()) fmt::print(to, "  {:<32} {:.4g}\n", name, value.get<double>());
    }
    for (const Json& scene : report["scenes"]) {
        say("\n{name}: {gaussians} Gaussians, {width} x {height}", scene, to);
        if (scene.contains("problem")) {
            say("  {problem}", scene, to);
            continue;
        }
        say("  counted: {visible} visible, {isects} isects, {evaluated_pairs} pairs evaluated, "
            "{blended_pairs} blended",
            scene["counters"], to);
        say_times("a frame", scene["frame"], to);
        say_times("a training step", scene["step"], to);
    }
    say("\n{send_back}", report, to);
}

}  // namespace

std::vector<ReportScene> report_scenes(bool quick) {
    if (quick) return {{"small", {20'000, 3, 7, 0.004f, 0.03f}, 320, 180, 20, 40}};
    return {{"small", {100'000, 3, 7, 0.004f, 0.03f}, 1280, 720, 60, 320},
            {"large", {1'000'000, 3, 7, 0.002f, 0.012f}, 1920, 1080, 40, 160}};
}

Result<Json> scene_json(const Backend& backend, const ReportScene& scene, std::string_view gpu,
                        int multiprocessors) {
    return SceneRun(backend, scene, gpu, multiprocessors).run();
}

Result<void> write_report(const Json& report, const fs::path& file) {
    Json all = report;
    all["send_back"] = kSendBack;
    GS_TRY_VOID(write_text_file(file, json_text(all, 2) + "\n"));
    fs::path text = file;
    text.replace_extension(".txt");
    if (text == file) text += ".txt";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen(text.c_str(), "w"),
                                                              std::fclose);
    if (!out) return fail(ErrorKind::unwritable, text.string(), "cannot be written");
    say_report(all, out.get());
    return {};
}

}  // namespace gs::cli
