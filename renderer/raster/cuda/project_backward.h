// Gradients of a frame's Gaussians into device memory, for the host to fetch:
// CudaRasterizer::backward and the kernel tests. Training does not store them; its sink steps the
// optimizer in the same kernel (project_backward.cuh).
#pragma once

#include "renderer/raster/cuda/pipeline.h"

namespace gs::cuda {

/// [plane][stride]: the model's planes, then mean2d x and y (with `absolute` without signs, after
/// a blend backward that was asked for it), then radius_px, which is 0 where a Gaussian was not
/// visible; with `motion` the turn x y z of SceneMotion behind them.
struct StoredGradients {
    float* values;
    std::uint64_t stride;  ///< >= ModelView::count
    std::int32_t planes;   ///< of the model
    bool motion = false, absolute = false;
    static constexpr int kExtraPlanes = 3;
    GS_HD float* mean2d() const { return values + static_cast<std::uint64_t>(planes) * stride; }
    GS_HD float* radius_px() const { return mean2d() + 2 * stride; }
    GS_HD float* turn() const { return mean2d() + kExtraPlanes * stride; }
    std::size_t bytes() const {
        return static_cast<std::size_t>(planes + kExtraPlanes + (motion ? 3 : 0)) * stride *
               sizeof(float);
    }
};

/// After launch_blend_backward; of a model that no optimizer moves. Writes the visible Gaussians;
/// the others are zeroed. Nothing in a frame that overflowed but zeros.
void launch_store_gradients(const Stream& stream, const FrameLimits& limits,
                            const FrameArrays& frame, const ModelView& model,
                            const StoredGradients& out);

}  // namespace gs::cuda
