// The work in a drawn frame, for the models of time: counts for the limit of this machine
// (profiler/analysis/cost_model.h), and tile by tile for other GPUs (profiler/predict/gpu_model.h).
#pragma once

#include "profiler/analysis/cost_model.h"
#include "profiler/predict/gpu_model.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// Counts of a frame as the cost model takes them. `all_counted`: it was drawn with counters and
/// warps, so that 0 is a count; else what is 0 may not have been asked for, and is "not counted".
FrameWork frame_work(const RenderCounters& counters, int width, int height, int sh_degree,
                     bool cuda, bool training, bool all_counted = false);

/// The same tile by tile, for a frame drawn with counters and warps.
PredictedWork predicted_work(const RenderResult& drawn, int sh_degree, bool cuda);

}  // namespace gs
