// A model's sky behind its Gaussians, put into a finished picture on the device. The CPU's twin is
// renderer/raster/sky.h. Used by CudaRasterizer and by training.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/scene/sky.h"

namespace gs::cuda {

/// All in device memory.
struct SkyJob {
    const FrameConstants* frame;
    const Sky* sky;
    float* color;                ///< [3][height][width], over the frame's background
    const float* alpha;          ///< of the picture, or null:
    const float* transmittance;  ///< of the frame, one of both
    GS_HD float through(std::size_t pixel) const {
        return alpha != nullptr ? 1.0f - alpha[pixel] : transmittance[pixel];
    }
};

/// Enqueues. `limits`: of the frame.
void launch_sky(const Stream& stream, const FrameLimits& limits, const SkyJob& job);

}  // namespace gs::cuda
