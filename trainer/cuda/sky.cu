// A thread walks over pixels and keeps a sum of each coefficient; a block leaves its own, and one
// block adds them in double, in their order, and steps.
#include "trainer/cuda/sky.h"

#include "renderer/device/cuda/launch.h"
#include "renderer/math/adam.h"
#include "renderer/raster/cuda/sky.cuh"

namespace gs::cuda {
namespace {

constexpr int kThreads = 128, kWarps = kThreads / kWarp, kNumbers = Sky::kNumbers;

template <bool kLens, class Warps>
GS_DEVICE void sum_pixels(const SkyLearning& job, Warps& warps) {
    const FrameConstants& c = *job.drawn.frame;
    const auto pixels = static_cast<std::uint32_t>(c.width * c.height);
    const int degree = job.sky->degree, bases = (degree + 1) * (degree + 1);
    float sums[kNumbers];
    GS_UNROLL
    for (float& sum : sums) sum = 0.0f;
    for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < pixels;
         i += gridDim.x * kThreads) {
        const float through = job.drawn.through(i);
        float basis[16], rgb[3], v[3];
        GS_UNROLL
        for (float& b : basis) b = 0.0f;
        if (through <= 0.0f || !sky_bases<kLens>(c, degree, i, basis)) continue;
        math::sky_color(degree, job.sky->sh.data(), basis, rgb);
        GS_UNROLL
        for (std::uint32_t k = 0; k < 3; ++k)
            v[k] = rgb[k] > 0.0f ? through * job.gradient[k * pixels + i] : 0.0f;
        GS_UNROLL
        for (int k = 0; k < 16; ++k)
            for (int channel = 0; channel < 3; ++channel)
                sums[3 * k + channel] += basis[k] * v[channel];
    }
    GS_UNROLL
    for (int k = 0; k < kNumbers; ++k) {
        float sum = k < 3 * bases ? sums[k] : 0.0f;
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_xor_sync(kAllLanes, sum, distance);
        if (lane_id() == 0) warps[k * kWarps + warp_id()] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= kNumbers) return;
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += warps[static_cast<int>(threadIdx.x) * kWarps + w];
    job.sums[threadIdx.x * kMostSkyBlocks + blockIdx.x] = sum;
}

GS_KERNEL(kThreads, 1) void pull_sky(SkyLearning job) {
    GS_SHARED(float, warps, kNumbers* kWarps);
    if (job.flags->go != 0) sum_pixels<false>(job, warps);
}
GS_KERNEL(kThreads, 1) void pull_sky_lens(SkyLearning job) {
    GS_SHARED(float, warps, kNumbers* kWarps);
    if (job.flags->go != 0) sum_pixels<true>(job, warps);
}

struct SkyStepParams {
    SkyLearning job;
    std::uint32_t blocks;  ///< that left sums
};
/// One block.
GS_KERNEL(kThreads, 1) void step_sky(SkyStepParams p) {
    const SkyLearning& job = p.job;
    const SkyInputs& in = *job.step;
    if (job.flags->halted != 0) return;
    const std::uint32_t i = threadIdx.x;
    float gradient = 0;
    if (i < kNumbers) {
        double sum = 0;
        for (std::uint32_t b = 0; job.flags->go != 0 && b < p.blocks; ++b)
            sum += static_cast<double>(job.sums[i * kMostSkyBlocks + b]);
        float* const batch = job.sums + std::size_t{kNumbers} * kMostSkyBlocks + i;
        gradient = static_cast<float>(sum) + (in.first != 0 ? 0.0f : *batch);
        *batch = gradient;
        gradient /= static_cast<float>(in.views);
    }
    const int wrong = __syncthreads_or(!(fabsf(gradient) < math::kLargestAdamGradient));
    const int degree = job.sky->degree;
    if (in.last == 0 || wrong != 0 ||
        i >= static_cast<std::uint32_t>(3 * (degree + 1) * (degree + 1)))
        return;
    const auto next = math::adam_step(
        math::AdamCell<float>{job.sky->sh.data()[i], job.moments[i], job.moments[kNumbers + i]},
        gradient, in.rate, in.epsilon, in.betas);
    job.sky->sh.data()[i] = next.value;
    job.moments[i] = next.m;
    job.moments[kNumbers + i] = next.v;
}

}  // namespace

void launch_learn_sky(const Stream& stream, const FrameLimits& limits, const SkyLearning& job) {
    const auto pixels =
        static_cast<std::uint32_t>(limits.width) * static_cast<std::uint32_t>(limits.height);
    const std::uint32_t needed = (pixels + kThreads - 1) / kThreads,
                        blocks = needed < kMostSkyBlocks ? needed : kMostSkyBlocks;
    if (limits.lens)
        launch(stream, "pull_sky_lens", {blocks, kThreads}, pull_sky_lens, job);
    else
        launch(stream, "pull_sky", {blocks, kThreads}, pull_sky, job);
    launch(stream, "step_sky", {1, kThreads}, step_sky, SkyStepParams{job, blocks});
}

}  // namespace gs::cuda
