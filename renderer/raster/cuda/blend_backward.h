// Blend backward on the device: what its kernels read and write, and the calls that enqueue them.
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
/// so the result is the same bits every time. Except sub_tile_atomic: every sub-tile adds its sums
/// with float atomics, in no particular order, to the row of its splat's first emission, which is
/// the only one that is live: another variant of the same frame needs
/// launch_clear_live_rows() first, as FramePipeline does.
void launch_blend_backward(const Stream& stream, const FrameLimits& limits,
                           const BlendBackwardParams& params, BackwardVariant variant);

/// No row is live. What a variant has left must not be added to another's.
void launch_clear_live_rows(const Stream& stream, const FrameLimits& limits,
                            const FrameArrays& frame);

// The kernels behind the variants, one file each.
void launch_blend_backward_sub_tile(const Stream& stream, const FrameLimits& limits,
                                    const BlendBackwardParams& params);
void launch_blend_backward_atomic(const Stream& stream, const FrameLimits& limits,
                                  const BlendBackwardParams& params);
void launch_blend_backward_systolic(const Stream& stream, const FrameLimits& limits,
                                    const BlendBackwardParams& params);

}  // namespace gs::cuda
