// One thread per pixel: three coalesced reads, one coalesced write, 16 bytes in all.
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/display.h"

namespace gs::cuda {
namespace {

constexpr int kThreads = 256;

struct PackParams {
    const float* color;  ///< [3][height][width], 0..1, not clamped yet
    std::uint32_t* rgba;
    std::uint32_t pixels;
    std::uint32_t width;
    std::uint32_t row_words;  ///< of rgba
};

/// Two roundings, never fused into one: the same bytes as on the host.
GS_DEVICE std::uint32_t to_byte(float value) {
    const float clamped = fminf(fmaxf(value, 0.0f), 1.0f);
    return static_cast<std::uint32_t>(__fadd_rn(__fmul_rn(clamped, 255.0f), 0.5f));
}

GS_KERNEL(kThreads, 8) void pack_rgba(PackParams p) {
    const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= p.pixels) return;
    const std::uint32_t red = to_byte(p.color[i]), green = to_byte(p.color[p.pixels + i]),
                        blue = to_byte(p.color[2ull * p.pixels + i]);
    const std::uint32_t y = i / p.width;
    p.rgba[y * p.row_words + (i - y * p.width)] = red | green << 8 | blue << 16 | 0xff000000u;
}

}  // namespace

void launch_pack_rgba(const float* color, int width, int height, std::uint32_t* rgba,
                      std::size_t pitch, const Stream& stream) {
    PackParams p{};
    p.color = color;
    p.rgba = rgba;
    p.width = static_cast<std::uint32_t>(width);
    p.pixels = p.width * static_cast<std::uint32_t>(height);
    p.row_words = static_cast<std::uint32_t>(pitch / sizeof(std::uint32_t));
    launch(stream, "pack", grid_for(p.pixels, kThreads), pack_rgba, p);
}

}  // namespace gs::cuda
