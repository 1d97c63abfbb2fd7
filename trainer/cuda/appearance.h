// Exposure and colour of photos on the device: the bodies of trainer/density/appearance.h as
// kernels, between blending and the loss and behind it. Used by the training step.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/math/photo_light.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

/// Blocks of the gradient's kernel at most: each leaves one sum of every part.
inline constexpr std::uint32_t kMostLookBlocks = 128;
/// Where sums of a step lie: [math::kStepSums][kMostLookBlocks].
inline constexpr std::size_t kLookSums = std::size_t{math::kStepSums} * kMostLookBlocks;

struct LookJob {
    const LossInputs* photo;                  ///< device memory
    const AppearanceInputs* step;             ///< device memory
    const float* picture;                     ///< [3][height][width], as drawn
    float* shown;                             ///< the same, as the photo would show it
    float* gradient;                          ///< d loss / d shown, becomes d loss / d picture
    float *values, *moments;                  ///< AppearanceState
    const math::PhotoNeighbours* neighbours;  ///< [photos]
    float* sums;                              ///< [kLookSums]
    const FrameCounts*
        counts;             ///< of the picture's frame: nothing is done for one that did not fit
    const RunFlags* flags;  ///< after the loss: whether the step continues
};

/// Each enqueues. Sizes are those in the inputs.
void launch_look(const Stream& stream, int width, int height, const LookJob& job);
/// The gradient, then a step of everything that was learned.
void launch_look_backward(const Stream& stream, int width, int height, const LookJob& job);

}  // namespace gs::cuda
