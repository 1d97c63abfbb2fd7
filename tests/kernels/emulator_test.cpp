#include "tests/support/emulator/emulator.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "renderer/device/cuda/kernel.cuh"

namespace {

namespace emu = gs::emulator;
using gs::cuda::kAllLanes;

struct SumParams {
    const float* in;
    float* out;
};
void GS_KERNEL(256, 1) block_sum(SumParams p) {
    GS_SHARED(float, partial, 256);
    const unsigned t = threadIdx.x;
    partial[t] = p.in[blockIdx.x * 256 + t];
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0) p.out[blockIdx.x] = partial[0];
}

template <class P>
void run(void (*kernel)(P), P p, unsigned blocks, unsigned threads) {
    emu::launch(nullptr, "kernel under test", blocks, threads, [=] { kernel(p); });
}

TEST(Emulator, BlockSumUnderManySeeds) {
    std::vector<float> in(256 * 9);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 37);
    std::vector<float> out(9);
    for (unsigned seed = 0; seed < 50; ++seed) {
        emu::set_seed(seed);
        run(block_sum, {in.data(), out.data()}, 9, 256);
        for (std::size_t b = 0; b < 9; ++b) {
            float sum = 0;
            for (std::size_t i = 0; i < 256; ++i) sum += in[b * 256 + i];
            EXPECT_EQ(out[b], sum);
        }
    }
}

}  // namespace
