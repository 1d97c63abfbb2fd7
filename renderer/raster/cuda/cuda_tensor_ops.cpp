#include "renderer/raster/cuda/cuda_tensor_ops.h"

#include "renderer/device/cuda/device.h"
#include "renderer/raster/cuda/tensor_stages.h"

namespace gs::tensor {
namespace {

class Ops final : public CudaOps {
  public:
    Ops(int device, void* stream)
        : index_(device), device_(device), stream_(static_cast<cudaStream_t>(stream), "tensors") {}
    void project(const ProjectInput& in, const ProjectOutput& out) override {
        cuda::project_tensors(stream_, in, out);
    }
    void project_vjp(const ProjectInput& in, const std::int32_t* radii, const ProjectSeeds& seeds,
                     const ProjectGradients& out) override {
        cuda::project_tensors_vjp(stream_, in, radii, seeds, out);
    }
    void shade(const ShadeInput& in, float* colors) override {
        cuda::shade_tensors(stream_, in, colors);
    }
    void shade_vjp(const ShadeInput& in, const float* v_colors,
                   const ShadeGradients& out) override {
        cuda::shade_tensors_vjp(stream_, in, v_colors, out);
    }
    std::unique_ptr<const BlendLists> blend(const BlendInput& in, float* colors, float* alphas,
                                            bool gradients) override {
        return cuda::blend_tensors(stream_, index_, in, colors, alphas, gradients);
    }
    void blend_vjp(const BlendInput& in, const BlendLists& lists, const BlendSeeds& seeds,
                   const BlendGradients& out) override {
        cuda::blend_tensors_vjp(stream_, in, lists, seeds, out);
    }

  private:
    int index_;
    cuda::ChosenDevice device_;
    cuda::Stream stream_;
};

}  // namespace

Result<std::unique_ptr<CudaOps>> cuda_tensor_ops(int device, void* stream) {
    {
        const cuda::ChosenDevice chosen(device);  // looking may choose it for good
        if (const auto info = cuda_device_info(device); !info) return tl::unexpected(info.error());
    }
    return std::make_unique<Ops>(device, stream);
}

}  // namespace gs::tensor
