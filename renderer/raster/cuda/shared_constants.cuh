// FrameConstants in a block's shared memory, for kernels that use many of them between branches:
// from device memory each would be waited for anew wherever the compiler may not move its load.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/frame.h"

namespace gs::cuda {

inline constexpr std::uint32_t kConstantWords = sizeof(FrameConstants) / 4;

/// By all `kThreads` threads of a block; `words`: shared, [kConstantWords]. The result
/// may be read after the block's next __syncthreads().
template <unsigned kThreads, class Words>
GS_DEVICE const FrameConstants& share_constants(const FrameConstants* from, Words& words) {
    static_assert(sizeof(FrameConstants) % 4 == 0 && alignof(FrameConstants) == 4);
    static_assert(kThreads >= kConstantWords, "a thread a word");
    if (threadIdx.x < kConstantWords)
        words[threadIdx.x] = reinterpret_cast<const std::uint32_t*>(from)[threadIdx.x];
    return *reinterpret_cast<const FrameConstants*>(&words[0]);
}

}  // namespace gs::cuda
