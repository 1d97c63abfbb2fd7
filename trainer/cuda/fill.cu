#include "trainer/cuda/fill.h"

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"

namespace gs::cuda {
namespace {

constexpr int kThreads = 256;

struct FillParams {
    std::uint32_t* to;
    std::uint32_t word;
    std::uint64_t rows, stride, width;
};
GS_KERNEL(kThreads, 8)
void fill_rows(FillParams p) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i < p.rows * p.width) p.to[i / p.width * p.stride + i % p.width] = p.word;
}

}  // namespace

void launch_fill_rows(const Stream& stream, void* to, std::uint32_t word, std::size_t rows,
                      std::size_t stride, std::size_t width) {
    launch(stream, "fill_rows", grid_for(rows * width, kThreads), fill_rows,
           FillParams{static_cast<std::uint32_t*>(to), word, rows, stride, width});
}

void launch_fill(const Stream& stream, void* to, std::uint32_t word, std::size_t count) {
    launch_fill_rows(stream, to, word, 1, count, count);
}

}  // namespace gs::cuda
