// The CUDA rasterizer of a build without CUDA.
#include "renderer/raster/cuda/cuda_rasterizer.h"

namespace gs {

Result<std::unique_ptr<Rasterizer>> make_cuda_rasterizer(int index) {
    return tl::unexpected(cuda_device_info(index).error());
}

}  // namespace gs
