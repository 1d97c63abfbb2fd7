// The bench's result: figures per stage with the interval of the median, their JSON, their table,
// and the comparison with an earlier run. Called by bench.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/cli/cameras.h"
#include "app/cli/report.h"
#include "base/expected.h"
#include "profiler/store/statistics.h"

namespace gs::cli {

struct StageTime {
    std::string name;  ///< "blend", "blend (GPU)"
    Stage stage = Stage::other;
    bool gpu = false;
    double ms_p50 = 0, ms_lo = 0, ms_hi = 0;  ///< the median and its 95 % interval
    double ms_mean = 0, ms_p95 = 0, ms_p99 = 0;
    double share = 0;  ///< of the frames' time, own time without inner stages, 0..1
    std::uint64_t samples = 0;
};
/// Per stage over whole frames; the frame's own stage ("iteration") comes last and means
/// everything.
std::vector<StageTime> stage_times(std::span<const FrameSample> frames, Stage frame_stage);
/// The same for GPU time, over frames whose work is known to have ended; empty if no GPU was timed.
/// share is of the time the GPU was busy with these frames.
std::vector<StageTime> gpu_stage_times(std::span<const FrameSample> frames);
/// Interval of the median from order statistics (ranks n/2 +- 0.98 sqrt n; for example Le Boudec,
/// "Performance Evaluation", 2.2). `values` get sorted.
void median_interval(std::vector<double>& values, double& median, double& lo, double& hi);

Table stages_table(std::span<const StageTime> stages);

/// A stage is significantly slower if its interval is above the base's and its median is more than
/// `tolerance` above as well, even without the share of its time that threads `waited` for a CPU
/// (0..1; GPU stages do not wait).
struct BaseComparison {
    std::vector<std::string> lines;      ///< one per stage, as text
    std::vector<std::string> slower;     ///< names
    std::vector<std::string> undecided;  ///< slower, perhaps because of waiting
};
BaseComparison compare_with_base(const Json& base, const std::vector<StageTime>& now,
                                 double tolerance, double waited);

/// The JSON of an earlier bench, from a file (its last line is taken). Errors: no such file, no
/// stages in it.
Result<Json> read_base(const std::string& path);
/// Errors (usage): `base` timed something else than `now` says: other work, another scene, other
/// cameras, sizes or another backend, so that its times say nothing about these.
Result<void> check_same_subject(const std::string& path, const Json& base, const Json& now);
/// Identifies exactly these Gaussians, and these cameras in this order.
std::string identity_of(const GaussianModel& model);
std::string identity_of(std::span<const NamedCamera> cameras);
std::string identity_of(const Capture& capture);

}  // namespace gs::cli
