// A run's sky on the device: its gradient of a step's views, and Adam's step. The CPU's twin is
// trainer/adam/sky_step.h. Owned by StepEngine.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/sky.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

/// Blocks of the gradient's kernel at most: each leaves one sum of every coefficient.
inline constexpr std::uint32_t kMostSkyBlocks = 128;
/// Floats of SkyLearning::sums: [Sky::kNumbers][kMostSkyBlocks] of a view, then [Sky::kNumbers] of
/// a batch so far.
inline constexpr std::size_t kSkySums = std::size_t{Sky::kNumbers} * (kMostSkyBlocks + 1);

struct SkyLearning {
    SkyJob drawn;           ///< as the view's picture was drawn
    const SkyInputs* step;  ///< device memory
    const float* gradient;  ///< [3][height][width] d loss / d picture
    Sky* sky;               ///< the same that was drawn
    float* moments;         ///< RunArrays::sky_moments
    float* sums;            ///< [kSkySums]
    const RunFlags* flags;  ///< after the loss
};
/// Enqueues.
void launch_learn_sky(const Stream& stream, const FrameLimits& limits, const SkyLearning& job);

}  // namespace gs::cuda
