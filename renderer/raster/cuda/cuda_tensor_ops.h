// The functions of tensor_ops.h on arrays in the memory of a CUDA device, but for blending along
// rays: the same results up to rounding, the same bits twice.
#pragma once

#include <memory>

#include "base/expected.h"
#include "renderer/raster/tensor_ops.h"

namespace gs::tensor {

/// One call's. Work is given to the stream; the host waits for it where blend() learns how many
/// pairs there are, and where a lens or a rolling shutter is read. The calling thread's device is
/// restored with the destructor. Throws DeviceError, and std::length_error for too many pairs.
class CudaOps {
  public:
    virtual ~CudaOps() = default;
    virtual void project(const ProjectInput& in, const ProjectOutput& out) = 0;
    virtual void project_vjp(const ProjectInput& in, const std::int32_t* radii,
                             const ProjectSeeds& seeds, const ProjectGradients& out) = 0;
    virtual void shade(const ShadeInput& in, float* colors) = 0;
    virtual void shade_vjp(const ShadeInput& in, const float* v_colors,
                           const ShadeGradients& out) = 0;
    /// BlendInput::first is in host memory; there are no rays.
    virtual std::unique_ptr<const BlendLists> blend(const BlendInput& in, float* colors,
                                                    float* alphas, bool gradients) = 0;
    /// May be on another stream than blend() was, after it.
    virtual void blend_vjp(const BlendInput& in, const BlendLists& lists, const BlendSeeds& seeds,
                           const BlendGradients& out) = 0;
};
/// `stream`: a cudaStream_t of that device, or null: its default stream. Error: why the device
/// cannot be used.
Result<std::unique_ptr<CudaOps>> cuda_tensor_ops(int device, void* stream);

}  // namespace gs::tensor
