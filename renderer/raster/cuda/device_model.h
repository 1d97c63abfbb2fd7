// Models in device memory as CudaRasterizer gets them: one that was given through source_of() and
// stays there, and a copy of any other source, read block by block.
#pragma once

#include <memory>

#include "base/buffer.h"
#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/model_view.h"

namespace gs::cuda {

/// Planes and bounds in device memory.
class DeviceModel {
  public:
    /// As GaussianModel lays it out. Returns when `values` may change.
    void upload(std::span<const float> values, std::size_t stride, std::size_t count, int sh_degree,
                std::span<const BlockBounds> bounds, const Stream& stream);
    ModelView view() const;
    std::size_t bytes() const { return values_.capacity_bytes() + bounds_.capacity_bytes(); }

  private:
    DeviceBuffer<float> values_{"Gaussians"};
    DeviceBuffer<BlockBounds> bounds_{"bounds of Gaussians"};
    ModelView view_;
};

/// A source whose parameters lie in device memory: CudaRasterizer draws from them in place.
/// Training draws its own model through one. Host readers get nothing.
class ResidentSource : public ParameterSource {
  public:
    virtual ModelView view() const = 0;
    BlockView geometry(std::size_t, float*) override { return not_here(); }
    BlockView sh(std::size_t, float*) override { return not_here(); }
    std::span<const BlockBounds> bounds() const override { return {}; }

  private:
    static BlockView not_here() {
        CHECK(false, "these parameters are in device memory");
        return {};
    }
};

/// What CudaRasterizer::source_of() gives. Host readers get the host's model.
class DeviceModelSource final : public ResidentSource {
  public:
    DeviceModelSource(const GaussianModel& model, std::span<const BlockBounds> bounds,
                      std::shared_ptr<const Stream> stream);
    ~DeviceModelSource() override { (void)choose_device(on_); }
    std::size_t count() const override { return host_.count(); }
    int sh_degree() const override { return host_.sh_degree(); }
    BlockView geometry(std::size_t block, float* scratch) override {
        return host_.geometry(block, scratch);
    }
    BlockView sh(std::size_t block, float* scratch) override { return host_.sh(block, scratch); }
    std::span<const BlockBounds> bounds() const override { return host_.bounds(); }
    ModelView view() const override { return device_.view(); }

  private:
    const int on_ = device_in_use();
    ModelSource host_;
    std::shared_ptr<const Stream> stream_;
    DeviceModel device_;
};

/// A device copy of a source that lives elsewhere, made anew for every frame.
class CopiedSource {
  public:
    ModelView copy(ParameterSource& source, const Stream& stream);
    std::size_t bytes() const { return device_.bytes() + values_.capacity_bytes(); }

  private:
    Buffer<float> values_;  ///< [planes][blocks * 16]
    DeviceModel device_;
};

}  // namespace gs::cuda
