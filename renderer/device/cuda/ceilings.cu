// Ceilings by bare kernels: each does one thing on all multiprocessors, in chains that do not wait
// for each other, and writes a result nobody reads so that the compiler leaves it in.
#include "renderer/device/cuda/ceiling_kernels.h"
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kThreads = kCeilingThreads;
constexpr int kChains = kCeilingChains;

struct CopyParams {
    const float4* from;
    float4* to;
    std::uint64_t count;
};
void GS_KERNEL(kThreads, 1) copy_kernel(CopyParams p) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < p.count;
         i += step)
        p.to[i] = p.from[i];
}

/// `seed` is a number the compiler does not know; `out` takes a result that is hardly ever written.
struct LoopParams {
    float seed;
    std::uint32_t rounds;
    float* out;
};
GS_DEVICE void keep(const LoopParams& p, float value) {
    if (value == 12345.0f) p.out[0] = value;
}

void GS_KERNEL(kThreads, 1) multiply_add_kernel(LoopParams p) {
    float a[kChains];
    GS_UNROLL
    for (int k = 0; k < kChains; ++k)
        a[k] = p.seed + static_cast<float>(threadIdx.x + static_cast<unsigned>(k));
    for (std::uint32_t i = 0; i < p.rounds; ++i) {
        GS_UNROLL
        for (int k = 0; k < kChains; ++k) a[k] = a[k] * 0.999f + p.seed;
    }
    float sum = 0;
    GS_UNROLL
    for (int k = 0; k < kChains; ++k) sum += a[k];
    keep(p, sum);
}

void GS_KERNEL(kThreads, 1) special_kernel(LoopParams p) {
    float a[kChains];
    GS_UNROLL
    for (int k = 0; k < kChains; ++k)
        a[k] = -p.seed - 0.01f * static_cast<float>(threadIdx.x + static_cast<unsigned>(k));
    for (std::uint32_t i = 0; i < p.rounds; ++i) {
        GS_UNROLL
        for (int k = 0; k < kChains; ++k) a[k] = __expf(a[k]);
    }
    float sum = 0;
    GS_UNROLL
    for (int k = 0; k < kChains; ++k) sum += a[k];
    keep(p, sum);
}

void GS_KERNEL(kThreads, 1) shared_kernel(LoopParams p) {
    GS_SHARED(float4, words, 2 * kThreads);
    for (std::uint32_t i = threadIdx.x; i < 2 * kThreads; i += kThreads)
        words[i] = make_float4(p.seed, static_cast<float>(i), p.seed, 1.0f);
    __syncthreads();
    float sum = 0;
    std::uint32_t at = threadIdx.x;
    for (std::uint32_t i = 0; i < p.rounds; ++i) {
        const float4 word = words[at];
        sum += word.x + word.y + word.z + word.w;
        at = (at + 32) & (2 * kThreads - 1);
    }
    keep(p, sum);
}

struct AtomicParams {
    float* to;
    std::uint32_t rounds;
    std::uint32_t mask;  ///< thread i adds to to[i & mask]
};
void GS_KERNEL(kThreads, 1) atomic_kernel(AtomicParams p) {
    const std::uint32_t i = (blockIdx.x * kThreads + threadIdx.x) & p.mask;
    for (std::uint32_t k = 0; k < p.rounds; ++k) atomicAdd(p.to + i, 1.0f);
}

struct NothingParams {
    std::uint32_t none;
};
void GS_KERNEL(32, 1) nothing_kernel(NothingParams) {}

}  // namespace

void launch_copy(const Stream& stream, std::uint32_t blocks, const float4* from, float4* to,
                 std::size_t count) {
    launch(stream, "copy", {blocks, kThreads}, copy_kernel,
           CopyParams{from, to, std::uint64_t{count}});
}
void launch_arithmetic(const Stream& stream, Arithmetic kind, std::uint32_t blocks,
                       std::uint32_t rounds, float* out) {
    const LoopParams params{0.5f, rounds, out};
    switch (kind) {
        case Arithmetic::multiply_add:
            return launch(stream, "multiply-adds", {blocks, kThreads}, multiply_add_kernel, params);
        case Arithmetic::special:
            return launch(stream, "special functions", {blocks, kThreads}, special_kernel, params);
        case Arithmetic::shared:
            return launch(stream, "shared memory", {blocks, kThreads}, shared_kernel, params);
    }
}
void launch_atomics(const Stream& stream, std::uint32_t blocks, std::uint32_t rounds, float* to,
                    std::uint32_t mask) {
    launch(stream, "atomics", {blocks, kThreads}, atomic_kernel, AtomicParams{to, rounds, mask});
}
void launch_nothing(const Stream& stream) {
    launch(stream, "nothing", {1, 32}, nothing_kernel, NothingParams{0});
}

}  // namespace gs::cuda
