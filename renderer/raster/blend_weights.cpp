#include "renderer/raster/blend_weights.h"

#include <algorithm>

#include "renderer/math/sh.h"

namespace gs {
namespace {

/// The shapes alone, all of the same grey: then red's gradient is the weight.
GaussianModel in_grey(const GaussianModel& model) {
    GaussianModel grey = model.resized(model.capacity, 0);
    for (int plane = kSh0; plane < grey.planes(); ++plane)
        std::fill_n(grey.plane(plane), grey.count, 0.0f);
    return grey;
}

/// Each block comes once a picture, so that every row has one writer.
class WeightSink final : public GradientSink {
  public:
    explicit WeightSink(std::size_t count) : weights(count) {}
    void take(const BlockGradients& gradients) override {
        const std::size_t first = gradients.block * kBlock;
        for (std::size_t lane = 0; lane < kBlock && first + lane < weights.size(); ++lane)
            weights[first + lane] += static_cast<double>(gradients.planes[kSh0][lane]);
    }
    std::vector<double> weights;  ///< x the constant harmonic
};

}  // namespace

Result<std::vector<double>> blend_weights(Rasterizer& rasterizer, const GaussianModel& model,
                                          std::span<const Camera> cameras,
                                          const Progress& progress) {
    const GaussianModel grey = in_grey(model);
    const auto source = rasterizer.source_of(grey);
    const auto state = rasterizer.make_state();
    RenderOptions options;
    options.antialiased = model.antialiased;
    options.depth = false;
    RenderResult picture;
    PixelGradients red;
    WeightSink sink(model.count);
    for (std::size_t i = 0; i < cameras.size(); ++i) {
        if (progress && !progress("weights", i, cameras.size()))
            return fail(ErrorKind::cancelled, "", "weighing was stopped");
        rasterizer.forward(*source, cameras[i], options, *state, picture);
        red.color.resize(cameras[i].width, cameras[i].height, 3);
        red.color.values.fill(0.0f);
        std::fill_n(red.color.plane(0), red.color.pixels(), 1.0f);
        rasterizer.backward(*source, cameras[i], options, *state, picture, red, sink);
    }
    for (double& weight : sink.weights) weight /= static_cast<double>(math::kSh0Basis);
    return std::move(sink.weights);
}

}  // namespace gs
