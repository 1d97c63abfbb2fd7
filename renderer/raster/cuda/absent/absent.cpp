// The CUDA rasterizer of a build without CUDA.
#include "renderer/raster/cuda/cuda_rasterizer.h"
#include "renderer/raster/cuda/cuda_tensor_ops.h"
#include "renderer/raster/cuda/lists_check.h"

namespace gs {

Result<std::unique_ptr<Rasterizer>> make_cuda_rasterizer(int index) {
    return tl::unexpected(cuda_device_info(index).error());
}
Result<ListsCheck> check_cuda_lists(const GaussianModel&, const Camera&, int index) {
    return tl::unexpected(cuda_device_info(index).error());
}
Result<SortsCheck> check_cuda_sorts(std::size_t, std::uint64_t, int index) {
    return tl::unexpected(cuda_device_info(index).error());
}
Result<std::unique_ptr<tensor::CudaOps>> tensor::cuda_tensor_ops(int device, void*) {
    return tl::unexpected(cuda_device_info(device).error());
}

}  // namespace gs
