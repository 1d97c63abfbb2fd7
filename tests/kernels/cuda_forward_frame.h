// A frame of FramePipeline with its inputs and outputs, for tests that look between the kernels.
#pragma once

#include <vector>

#include "renderer/raster/cuda/device_model.h"
#include "renderer/raster/cuda/pipeline.h"

namespace gs::test {

class ForwardFrame {
  public:
    /// Everything fits: capacity for each Gaussian in `isects_each` tiles.
    static cuda::FrameLimits roomy(const GaussianModel& model, const Camera& camera,
                                   const RenderOptions& options, std::uint32_t isects_each = 64);

    ForwardFrame(const GaussianModel& model, const Camera& camera, const RenderOptions& options,
                 const cuda::FrameLimits& limits);
    /// project, list_tiles.
    void bin(const cuda::ModelView& model);
    void bin() { bin(model_.view()); }
    void blend();
    void draw() {
        bin();
        blend();
    }

    template <class T>
    std::vector<T> fetched(const T* from, std::size_t count) const {
        std::vector<T> to(count);
        if (count > 0) cuda::copy_to_host(to.data(), from, count * sizeof(T), stream);
        stream.synchronize();
        return to;
    }
    cuda::FrameCounts counts() const { return fetched(pipeline.arrays().counts, 1)[0]; }
    std::vector<float> color() const { return fetched(picture.color, 3 * pixels()); }
    std::vector<float> alpha() const { return fetched(picture.alpha, pixels()); }
    std::vector<float> depth() const { return fetched(picture.depth, pixels()); }
    std::vector<float> median_depth() const { return fetched(picture.median_depth, pixels()); }
    std::vector<std::uint16_t> contributors() const {
        return fetched(picture.contributors, pixels());
    }
    std::size_t pixels() const {
        return static_cast<std::size_t>(limits.width) * static_cast<std::size_t>(limits.height);
    }

    cuda::Stream stream{"test"};
    cuda::FramePipeline pipeline{stream};
    const cuda::FrameLimits limits;
    cuda::FrameConstants constants;
    cuda::PictureView picture;

  private:
    cuda::DeviceModel model_;
    cuda::DeviceBuffer<float> planes_{"picture"};
    cuda::DeviceBuffer<std::uint16_t> contributors_{"contributors"};
    cuda::DeviceBuffer<std::uint32_t> per_tile_{"counts per tile"};
};

}  // namespace gs::test
