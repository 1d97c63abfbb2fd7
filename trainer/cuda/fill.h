// Filling and copying of plain arrays that cudaMemset cannot do.
#pragma once

#include "renderer/device/cuda/runtime.h"

namespace gs::cuda {

/// to[i] = the bits `word`, i < count.
void launch_fill(const Stream& stream, void* to, std::uint32_t word, std::size_t count);
/// to[i * stride + j] = `word` for i < rows, j < width, in words of 4 bytes.
void launch_fill_rows(const Stream& stream, void* to, std::uint32_t word, std::size_t rows,
                      std::size_t stride, std::size_t width);

}  // namespace gs::cuda
