// Blend backward on the device: what its kernels read and write, and the call that enqueues them.
// FramePipeline and the kernel tests call these; project_backward.cuh takes the sums from there.
#pragma once

#include "renderer/raster/cuda/pipeline.h"

namespace gs::cuda {

struct BlendBackwardParams {
    FrameArrays frame;    ///< after blend with limits.gradients
    PictureView picture;  ///< what blend drew: color, and depth when gradients.depth is given
    PictureGradientView gradients;  ///< of the same size
};

/// Writes FrameArrays::isect_gradients of the emissions that drew anything, and sets their bits in
/// FrameArrays::live_rows; the others are left as they were. Each row is summed in a fixed order,
/// so the result is the same bits every time, however often it is called for a frame.
void launch_blend_backward(const Stream& stream, const FrameLimits& limits,
                           const BlendBackwardParams& params);

}  // namespace gs::cuda
