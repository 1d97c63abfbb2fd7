// The sum of a number over the threads of a block, in halves: the order depends on nothing else.
#pragma once

#include "renderer/device/cuda/kernel.cuh"

namespace gs::cuda {

/// To thread 0; to others a part of it. By all kThreads threads, a power of two; `shared`:
/// [kThreads].
template <std::uint32_t kThreads, class Shared>
GS_DEVICE double block_sum(double value, Shared& shared) {
    const std::uint32_t thread = threadIdx.x;
    __syncthreads();  // whoever reads an earlier sum
    shared[thread] = value;
    for (std::uint32_t width = kThreads / 2; width > 0; width /= 2) {
        __syncthreads();
        if (thread < width) shared[thread] = value = value + shared[thread + width];
    }
    return value;
}

}  // namespace gs::cuda
