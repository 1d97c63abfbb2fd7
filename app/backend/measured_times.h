// Compares the performance model with times of our own kernels on a GPU: its blind prediction, and
// its current one. Published times of others set the model's fit (profiler/predict/validation.h);
// these test it. Data: assets/gpu/measured_times.json; shown by `gausscope predict --validation`
// and docs/model.md; a test keeps both in step.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/record/stage.h"
#include "profiler/predict/gpu_model.h"

namespace gs {

struct MeasuredStage {
    Stage stage = Stage::other;
    double ms = 0;     ///< measured, median
    double blind = 0;  ///< the model's blind prediction, ms
};
/// One scene, drawn or stepped many times.
struct MeasuredRun {
    std::string id, what, gpu;  ///< gpu: GpuDevice::id
    std::string kind;           ///< "frame", "step", "stored": a frame whose gradients are written
    PredictedWork work;
    std::vector<MeasuredStage> stages;
    /// Stages whose kernels were replaced since: no longer compared.
    std::vector<Stage> replaced;
};
struct MeasuredTimes {
    std::vector<MeasuredRun> runs;
};
/// Errors: malformed, naming the run.
Result<MeasuredTimes> parse_measured_times(const std::string& text, const std::string& origin);
/// Measured times compiled into the program.
MeasuredTimes measured_times();

struct ComparedStage {
    std::string what, kind, gpu;
    MeasuredStage measured;
    double now = 0;                              ///< the model's current prediction, ms
    bool replaced = false;                       ///< the measured kernels were replaced
    GpuResource bound_by = GpuResource::launch;  ///< by the model
    double log_error() const;                    ///< of `now`
};
/// With the costs of today's kernels. Runs on GPUs not in `gpus` are skipped.
std::vector<ComparedStage> compare_measured(const MeasuredTimes& times, const KernelCosts& costs,
                                            const std::vector<GpuDevice>& gpus,
                                            const ModelFit& fit);

}  // namespace gs
