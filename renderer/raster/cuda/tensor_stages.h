// What cuda_tensor_ops.cpp is made of: its functions on one stream, by file. Private to
// raster/cuda.
#pragma once

#include <memory>

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/tensor_ops.h"

namespace gs::cuda {

/// The thread's device for as long as this lives, then the one it had.
class ChosenDevice {
  public:
    explicit ChosenDevice(int index) : index_(index), before_(index) {
        if (cudaGetDevice(&before_) != cudaSuccess) (void)cudaGetLastError();
        (void)choose_device(index);
    }
    ~ChosenDevice() {
        if (before_ != index_) (void)choose_device(before_);
    }
    ChosenDevice(const ChosenDevice&) = delete;
    ChosenDevice& operator=(const ChosenDevice&) = delete;

  private:
    int index_, before_;
};

void project_tensors(const Stream& stream, const tensor::ProjectInput& in,
                     const tensor::ProjectOutput& out);
void project_tensors_vjp(const Stream& stream, const tensor::ProjectInput& in,
                         const std::int32_t* radii, const tensor::ProjectSeeds& seeds,
                         const tensor::ProjectGradients& out);
void shade_tensors(const Stream& stream, const tensor::ShadeInput& in, float* colors);
void shade_tensors_vjp(const Stream& stream, const tensor::ShadeInput& in, const float* v_colors,
                       const tensor::ShadeGradients& out);

/// `device`: the stream's.
std::unique_ptr<const tensor::BlendLists> blend_tensors(const Stream& stream, int device,
                                                        const tensor::BlendInput& in, float* colors,
                                                        float* alphas, bool gradients);
void blend_tensors_vjp(const Stream& stream, const tensor::BlendInput& in,
                       const tensor::BlendLists& lists, const tensor::BlendSeeds& seeds,
                       const tensor::BlendGradients& out);

}  // namespace gs::cuda
