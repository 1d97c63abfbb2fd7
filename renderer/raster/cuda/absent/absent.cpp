// The CUDA rasterizer of a build without CUDA.
#include "renderer/raster/cuda/backward_variant.h"
#include "renderer/raster/cuda/cuda_rasterizer.h"

namespace gs {

void cuda::choose_backward_variant(BackwardVariant) {}
cuda::BackwardVariant cuda::backward_variant() { return BackwardVariant::sub_tile; }

Result<std::unique_ptr<Rasterizer>> make_cuda_rasterizer(int index) {
    return tl::unexpected(cuda_device_info(index).error());
}

}  // namespace gs
