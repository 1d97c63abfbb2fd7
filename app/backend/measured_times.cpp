#include "app/backend/measured_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "app/backend/counted_work.h"
#include "base/assets.h"
#include "base/check.h"
#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"

namespace gs {
namespace {

using TimesJson = nlohmann::json;

std::optional<Stage> stage_called(const TimesJson& name) {
    if (!name.is_string()) return std::nullopt;
    for (std::size_t i = 0; i < kStageCount; ++i)
        if (name.get<std::string>() == name_of(static_cast<Stage>(i))) return static_cast<Stage>(i);
    return std::nullopt;
}

std::optional<double> milliseconds(const TimesJson& value) {
    if (!value.is_number() || !(value.get<double>() > 0)) return std::nullopt;
    return value.get<double>();
}

Result<MeasuredRun> parse_run(const TimesJson& json, const std::string& origin) {
    MeasuredRun run;
    const auto text = [&](const char* key) {
        const TimesJson& value = member(json, key);
        return value.is_string() ? value.get<std::string>() : std::string();
    };
    run.id = text("id");
    run.what = text("what");
    run.gpu = text("gpu");
    run.kind = text("work");
    if (run.id.empty() || run.gpu.empty() ||
        (run.kind != "frame" && run.kind != "step" && run.kind != "stored"))
        return fail(
            ErrorKind::malformed, origin,
            fmt::format("run \"{}\" lacks its GPU or its work: frame, step or stored", run.id));
    GS_TRY(run.work, work_of_json(json_text(member(json, "counts")), origin));
    run.work.packed = false;
    for (const TimesJson& row : member(json, "stages")) {
        const auto stage = stage_called(element(row, 0));
        const auto ms = milliseconds(element(row, 1)), blind = milliseconds(element(row, 2));
        if (!stage || !ms || !blind)
            return fail(ErrorKind::malformed, origin,
                        fmt::format("run \"{}\": a stage is not [name, ms, ms]", run.id));
        run.stages.push_back({*stage, *ms, *blind});
    }
    for (const TimesJson& name : member(json, "replaced")) {
        const auto stage = stage_called(name);
        if (!stage)
            return fail(ErrorKind::malformed, origin,
                        fmt::format("run \"{}\": \"replaced\" contains an unknown stage", run.id));
        run.replaced.push_back(*stage);
    }
    return run;
}

Prediction prediction_of(const MeasuredRun& run, const KernelCosts& costs, const GpuDevice& gpu,
                         const ModelFit& fit) {
    if (run.kind == "frame") return predict_frame(run.work, costs, gpu, fit);
    if (run.kind == "step") return predict_step(run.work, costs, gpu, fit);
    PredictedWork stored = run.work;
    stored.frame.gradients = true;
    stored.frame.training = false;
    return predict(stored, costs, gpu, fit);
}

}  // namespace

double ComparedStage::log_error() const { return std::log(now / measured.ms); }

Result<MeasuredTimes> parse_measured_times(const std::string& text, const std::string& origin) {
    GS_TRY(const TimesJson json, parse_json_object(std::as_bytes(std::span(text)), origin));
    if (!member(json, "runs").is_array())
        return fail(ErrorKind::malformed, origin, "the list \"runs\" is missing");
    MeasuredTimes out;
    for (const TimesJson& run : member(json, "runs")) {
        GS_TRY(out.runs.emplace_back(), parse_run(run, origin));
    }
    return out;
}

MeasuredTimes measured_times() {
    constexpr const char* kPath = "gpu/measured_times.json";
    auto times = parse_measured_times(std::string(embedded_asset(kPath)), kPath);
    CHECK(times.has_value(), "{}", times.error().text());
    return *std::move(times);
}

std::vector<ComparedStage> compare_measured(const MeasuredTimes& times, const KernelCosts& costs,
                                            const std::vector<GpuDevice>& gpus,
                                            const ModelFit& fit) {
    std::vector<ComparedStage> out;
    for (const MeasuredRun& run : times.runs) {
        const auto gpu = std::ranges::find(gpus, run.gpu, &GpuDevice::id);
        if (gpu == gpus.end()) continue;
        const Prediction now = prediction_of(run, costs, *gpu, fit);
        for (const MeasuredStage& measured : run.stages) {
            const auto stage =
                std::ranges::find(now.stages, measured.stage, &PredictedStage::stage);
            if (stage == now.stages.end()) continue;
            out.push_back({run.what, run.kind, run.gpu, measured, stage->ms.p50,
                           std::ranges::count(run.replaced, measured.stage) > 0, stage->bound_by});
        }
    }
    return out;
}

}  // namespace gs
