// The CUDA backend as tests make it: compiled for the host, on the emulated device.
#pragma once

#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "tests/support/raster_checks.h"

namespace gs::test {

inline std::unique_ptr<Rasterizer> emulated_cuda() {
    auto rasterizer = make_cuda_rasterizer(0);
    CHECK(rasterizer.has_value(), "the emulated device is not there");
    return std::move(*rasterizer);
}

}  // namespace gs::test
