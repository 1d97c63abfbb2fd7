// The direction of a pixel on the device. Private to the kernels that draw and learn a sky.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/math/sky.h"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

/// The bases in which pixel `i` sees the sky. False: the lens sees nothing there.
template <bool kLens>
GS_DEVICE bool sky_bases(const FrameConstants& c, int degree, std::uint32_t i, float (&basis)[16]) {
    const auto width = static_cast<std::uint32_t>(c.width), y = i / width;
    const Vec2<float> uv{static_cast<float>(i - y * width) + 0.5f, static_cast<float>(y) + 0.5f};
    Vec3<float> d;
    if constexpr (kLens)
        d = math::direction_seen<float>(static_cast<const math::LensCamera<float>&>(c.lens), uv);
    else
        d = math::direction_seen(c.camera, uv);
    math::sh_basis(degree, d, basis);
    return d.x != 0.0f || d.y != 0.0f || d.z != 0.0f;
}

}  // namespace gs::cuda
