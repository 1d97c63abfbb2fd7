// Compares stage times of the trace and counts of a frame with the cost model's floors on this
// machine. One function for bench's table, its JSON and the studio's roofline.
#pragma once

#include <span>
#include <vector>

#include "app/backend/frame_work.h"
#include "base/expected.h"
#include "base/file.h"
#include "panels/state/snapshot.h"
#include "profiler/analysis/cost_model.h"
#include "profiler/store/statistics.h"

namespace gs {

/// Measured times are medians. On CUDA the time is the GPU's, elsewhere the thread's.
/// Stages that have both a time and a floor, in table order.
std::vector<StageCost> stage_limits(std::span<const StageStats> times, const FrameWork& work,
                                    const Ceilings& ceilings);

/// The same as panels show it. The figures' sample is an iteration when `training`, else a view
/// frame.
StageCosts stage_costs(std::span<const StageStats> times, const FrameWork& work,
                       const Ceilings& ceilings);

/// Ceilings of this machine from the cache `file`, or measured now (well under a second) and
/// written there. `cuda_device`: CUDA's number of a device, or -1: the CPU. `remeasure` ignores the
/// cache. Errors: no such device. A cache that cannot be read or written is no error.
Result<Ceilings> machine_ceilings(int cuda_device, const fs::path& file, bool remeasure);

}  // namespace gs
