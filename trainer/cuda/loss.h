// Loss on the device: the value and gradient of trainer/loss/loss.h, from pictures and photos in
// device memory. Used by the training step.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

/// Sums of one thread block, reduced in the order of blocks.
struct LossPartial {
    double l1, mse, ssim;
};

struct LossJob {
    const LossInputs* inputs;  ///< device memory
    const float* picture;      ///< [3][height][width]
    float* gradient;           ///< the same, or null
    LossPartial* partials;     ///< [loss_blocks(width, height)]
    const FrameCounts*
        counts;       ///< of the picture's frame, or null: a frame that did not fit has no loss
    RunFlags* flags;  ///< or null
    StepResult* result;
};

std::uint32_t loss_blocks(int width, int height);
/// Enqueues. Sizes are those in the inputs.
void launch_loss(const Stream& stream, int width, int height, const LossJob& job);

}  // namespace gs::cuda
