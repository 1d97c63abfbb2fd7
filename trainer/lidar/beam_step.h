// A step's beams through the model, there and back: what CpuTraining does of a BeamPlan.
#pragma once

#include "renderer/raster/rasterizer.h"
#include "trainer/lidar/lidar_beams.h"
#include "trainer/lidar/lidar_loss.h"

namespace gs {

/// m: beams widen no axis of a Gaussian beyond. Where no photo looks, nothing else would stop
/// strips of road from growing through the scene, to hundreds of metres.
inline constexpr float kWidestByBeams = 0.5f;

/// Keeps its memory between steps.
class BeamStep {
  public:
    /// Gradients of plan.weight x views x the loss go to `sink`, which divides by `views`. The same
    /// bits on any number of threads.
    LidarTerms run(ParameterSource& source, const BeamPlan& plan, std::uint32_t views,
                   Compatibility compatibility, GradientSink& sink);
    std::size_t bytes() const { return geometry_.values.capacity_bytes(); }

  private:
    GaussianModel geometry_;  ///< the model as it reads now, without colours
};

}  // namespace gs
