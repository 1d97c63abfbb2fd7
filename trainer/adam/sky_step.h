// How a run learns the sky behind its Gaussians (renderer/scene/sky.h): by Adam, at a rate of its
// own. On the CPU; the device's kernels are trainer/cuda/sky.cu.
#pragma once

#include "renderer/raster/sky.h"
#include "trainer/adam/batch_part.h"
#include "trainer/settings/settings.h"

namespace gs {

/// One step, decided.
struct SkyPlan {
    float rate = 0, epsilon = 0;  ///< as math::adam_step() takes them
    std::uint32_t batch = 1;      ///< views of the step, whose mean gradient it takes
    bool on() const { return rate > 0; }
};
/// Of the step after `steps` others. Not on() where no sky is learned.
SkyPlan sky_plan(const TrainingSettings& settings, std::uint64_t steps);

/// A sky as the settings want it, before the first step: mid grey, or `given` with more or fewer
/// coefficients. Where none is learned `given` stays as it is.
Sky initial_sky(const TrainingSettings& settings, const Sky& given);
/// Of moments: first ones, then second ones.
inline constexpr std::size_t kSkyMoments = 2 * std::size_t{Sky::kNumbers};
/// `moments` [kSkyMoments]; `gradient`: the sum over the step's views. A gradient that is not
/// finite is left out.
void step_sky(Sky& sky, std::span<float> moments, const SkyPlan& plan, const SkyGradient& gradient);

/// What the views of a step say of the sky, and the step after the last of them.
class SkyLearner {
  public:
    /// `v_color`: d loss / d picture of the view; null where that is not finite.
    void learn(const SkyPlan& plan, const BatchPart& part, const Camera& camera,
               const ImageF& alpha, const ImageF* v_color, Sky& sky, std::span<float> moments);
    std::size_t bytes() const { return directions_.bytes(); }

  private:
    PixelDirections directions_;
    SkyGradient sum_{};  ///< over the batch's views so far
};

}  // namespace gs
