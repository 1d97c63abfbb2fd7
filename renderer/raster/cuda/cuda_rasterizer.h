// The CUDA backend's Rasterizer. No CUDA header comes in from here: app, bench and selftest use it
// as any other.
#pragma once

#include <memory>

#include "base/expected.h"
#include "renderer/device/cuda/device.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// For the device `index`. Errors as cuda_device_info(). Its forward() and backward() take and give
/// host memory, as the interface says; a model given through Rasterizer::source_of() stays on the
/// device between frames.
Result<std::unique_ptr<Rasterizer>> make_cuda_rasterizer(int index);

}  // namespace gs
