// One thread per pixel.
#include "renderer/raster/cuda/sky.h"

#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/sky.cuh"

namespace gs::cuda {
namespace {

constexpr int kThreads = 256;

template <bool kLens>
GS_DEVICE void draw_pixel(const SkyJob& job, std::uint32_t i) {
    const FrameConstants& c = *job.frame;
    const auto pixels = static_cast<std::uint32_t>(c.width * c.height);
    if (i >= pixels) return;
    const float through = job.through(i);
    if (through <= 0.0f) return;
    const int degree = job.sky->degree;
    float basis[16], rgb[3];
    if (!sky_bases<kLens>(c, degree, i, basis)) return;
    math::sky_color(degree, job.sky->sh.data(), basis, rgb);
    const float under[3] = {c.background.x, c.background.y, c.background.z};
    for (std::uint32_t k = 0; k < 3; ++k)
        job.color[k * pixels + i] += through * (fmaxf(rgb[k], 0.0f) - under[k]);
}

GS_KERNEL(kThreads, 1) void draw_sky(SkyJob job) {
    draw_pixel<false>(job, blockIdx.x * kThreads + threadIdx.x);
}
GS_KERNEL(kThreads, 1) void draw_sky_lens(SkyJob job) {
    draw_pixel<true>(job, blockIdx.x * kThreads + threadIdx.x);
}

}  // namespace

void launch_sky(const Stream& stream, const FrameLimits& limits, const SkyJob& job) {
    const auto grid = grid_for(
        static_cast<std::size_t>(limits.width) * static_cast<std::size_t>(limits.height), kThreads);
    if (limits.lens)
        launch(stream, "draw_sky_lens", grid, draw_sky_lens, job);
    else
        launch(stream, "draw_sky", grid, draw_sky, job);
}

}  // namespace gs::cuda
