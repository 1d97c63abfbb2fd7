// FrameConstants in a block's shared memory, for kernels that use many of them between branches:
// kernels would wait for device memory again wherever the compiler may not move a load.
#pragma once

#include <cstddef>
#include <type_traits>

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

/// What a kernel projects through: math::Pinhole<float>, math::LensCamera<float> or
/// math::UnscentedCamera<float>. Pinholes have kernels of their own, which neither hold nor read
/// what lenses need.
template <class Camera>
inline constexpr bool kThroughLens = std::is_base_of_v<math::LensCamera<float>, Camera>;
template <class Camera>
GS_DEVICE const Camera& camera_of(const FrameConstants& c) {
    if constexpr (kThroughLens<Camera>)
        return c.lens;
    else
        return c.camera;
}

template <class Camera>
inline constexpr std::uint32_t kConstantWords =
    (kThroughLens<Camera> ? sizeof(FrameConstants) : offsetof(FrameConstants, lens)) / 4;

/// By all `kThreads` threads of a block; `words`: shared, [kConstantWords<Camera>], of which the
/// result is made: it may be read after the block's next __syncthreads().
template <unsigned kThreads, class Camera, class Words>
GS_DEVICE const FrameConstants& share_constants(const FrameConstants* from, Words& words) {
    constexpr std::uint32_t kWords = kConstantWords<Camera>;
    static_assert(sizeof(FrameConstants) % 4 == 0 && alignof(FrameConstants) == 4);
    static_assert(kThreads >= kWords, "a thread a word");
    if (threadIdx.x < kWords)
        words[threadIdx.x] = reinterpret_cast<const std::uint32_t*>(from)[threadIdx.x];
    return *reinterpret_cast<const FrameConstants*>(&words[0]);
}

}  // namespace gs::cuda
