// Models in device memory as CudaRasterizer gets them: one that was given through source_of() and
// stays there, and a copy of any other source, read block by block.
#pragma once

#include <memory>

#include "base/buffer.h"
#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/half_colors.h"
#include "renderer/raster/cuda/model_view.h"

namespace gs::cuda {

/// Planes and bounds in device memory.
class DeviceModel {
  public:
    /// As GaussianModel lays it out. Returns when `values` may change.
    void upload(std::span<const float> values, std::size_t stride, std::size_t count, int sh_degree,
                std::span<const BlockBounds> bounds, const Stream& stream,
                const Sky* sky = nullptr);
    ModelView view() const;
    /// The colours in half precision, made when first asked for (by one thread at a time) and kept
    /// until the next upload().
    /// None of degree 0: 16 bytes would stand for 12.
    HalfColors half_colors(const Stream& stream);
    std::size_t bytes() const {
        return values_.capacity_bytes() + bounds_.capacity_bytes() + half_colors_.capacity_bytes();
    }

  private:
    DeviceBuffer<float> values_{"Gaussians"};
    DeviceBuffer<BlockBounds> bounds_{"bounds of Gaussians"};
    DeviceBuffer<Sky> sky_{"sky"};
    DeviceBuffer<std::uint32_t> half_colors_{"colours in half precision"};
    bool rounded_ = false;  ///< half_colors_ holds this model's
    ModelView view_;
};

/// A source whose parameters are in device memory: CudaRasterizer draws from them in place.
/// Training draws its own model through one. Host readers get nothing.
class ResidentSource : public ParameterSource {
  public:
    virtual ModelView view() const = 0;
    /// Of a model at rest, for Precision::fast. None: drawn as it is.
    virtual HalfColors half_colors() { return {}; }
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
    const Sky* sky() const override { return host_.sky(); }
    ModelView view() const override { return device_.view(); }
    HalfColors half_colors() override { return device_.half_colors(*stream_); }

  private:
    const int on_ = device_in_use();
    ModelSource host_;
    std::shared_ptr<const Stream> stream_;
    DeviceModel device_;
};

/// A device copy of a source in other memory, made for every frame.
class CopiedSource {
  public:
    ModelView copy(ParameterSource& source, const Stream& stream);
    std::size_t bytes() const { return device_.bytes() + values_.capacity_bytes(); }

  private:
    Buffer<float> values_;  ///< [planes][blocks * 16]
    DeviceModel device_;
};

}  // namespace gs::cuda
