// The language kernels are written in: CUDA C++, with two house macros where the emulator needs a
// say. nvcc compiles a kernel for the GPU; the tests compile the same file with the host compiler
// against headers of the same names that run every CUDA thread as a fiber (tests/support/emulator),
// so barriers, shuffles, votes and bounds are checked without a GPU. For that, kernels
//   - take exactly one plain struct by value: void kernel(KernelParams p);
//   - declare shared memory with GS_SHARED and are launched with cuda::launch (launch.h), never
//   with <<<>>>;
//   - use the *_sync intrinsics, __syncthreads*, atomics and the vector types (float2, float4), and
//   neither CUB block
//     primitives, cooperative groups, inline PTX, textures nor __constant__ memory.
// Included by every .cu file of ours.
#pragma once

#if defined(__CUDACC__) && !defined(FMT_USE_CONSTEXPR)
#define FMT_USE_CONSTEXPR 1  // fmt 9 does not expect it of nvcc and then contradicts itself
#endif

#include <cuda_runtime.h>

#ifndef __CUDACC__
#include <atomic>
#endif
#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
/// Threads that a multiprocessor of the architecture being compiled for holds.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ / 10 == 80 || __CUDA_ARCH__ / 10 == 90 || \
    __CUDA_ARCH__ / 100 == 10
#define GS_RESIDENT_THREADS 2048
#elif __CUDA_ARCH__ < 800
#define GS_RESIDENT_THREADS 1024
#else
#define GS_RESIDENT_THREADS 1536
#endif
/// void GS_KERNEL(256, 2) blend(BlendParams p): at most 256 threads a block, registers for at least
/// 2 blocks a multiprocessor, or for as many as it holds.
#define GS_KERNEL(threads, blocks)                                                    \
    __global__ __launch_bounds__(threads, (threads) * (blocks) <= GS_RESIDENT_THREADS \
                                              ? (blocks)                              \
                                              : GS_RESIDENT_THREADS / (threads))
#define GS_DEVICE __device__ __forceinline__
/// An array in the block's shared memory. Uninitialised; at function scope of a kernel only;
/// `count` is a constant.
#define GS_SHARED(type, name, count) __shared__ type name[count]
/// Before a loop: unrolled, so that arrays indexed by its counter stay in registers.
#define GS_UNROLL _Pragma("unroll")
#else
#define GS_KERNEL(threads, blocks)
#define GS_DEVICE inline
#define GS_SHARED(type, name, count) \
    ::gs::emulator::SharedArray<type> name(count, #name, std::source_location::current())
#define GS_UNROLL
#endif

namespace gs::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

GS_DEVICE int lane_id() { return static_cast<int>(threadIdx.x) & (kWarp - 1); }
GS_DEVICE int warp_id() { return static_cast<int>(threadIdx.x) / kWarp; }

/// A word of device memory that other blocks write while this one runs, as it is now.
template <class Word>
GS_DEVICE Word look_at(Word* at) {
#ifdef __CUDACC__
    return *static_cast<volatile Word*>(at);
#else
    ::gs::emulator::look_between_blocks();
    return std::atomic_ref(*at).load(std::memory_order_relaxed);
#endif
}

}  // namespace gs::cuda
