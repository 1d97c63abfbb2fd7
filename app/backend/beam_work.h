// Counts what the lidar beams of a training step meet, for the performance model
// (profiler/predict/gpu_model.h). Used by `predict` and the studio's Other GPUs.
#pragma once

#include "profiler/predict/gpu_model.h"
#include "renderer/raster/rasterizer.h"
#include "trainer/lidar/lidar_beams.h"

namespace gs {

BeamWork beam_work(const GaussianModel& model, const BeamPlan& plan, const RasterRules& rules);

}  // namespace gs
