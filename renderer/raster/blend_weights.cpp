#include "renderer/raster/blend_weights.h"

#include <algorithm>

#include "renderer/math/sh.h"
#include "renderer/scene/near_plane.h"

namespace gs {
namespace {

/// The shapes alone, all of the same grey: then red's gradient is the weight.
GaussianModel in_grey(const GaussianModel& model) {
    GaussianModel grey = model.resized(model.capacity, 0);
    grey.sky = {};
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

std::vector<Camera> cameras_to_weigh(std::span<const Camera> cameras) {
    const std::size_t n = std::min(cameras.size(), kMostWeighed);
    std::vector<Camera> out;
    for (std::size_t i = 0; i < n; ++i) {
        Camera c = cameras[i * cameras.size() / n];
        if (const int side = std::max(c.width, c.height); side > kWeighedSide)
            c = c.scaled_to(std::max(1, c.width * kWeighedSide / side),
                            std::max(1, c.height * kWeighedSide / side));
        out.push_back(c);
    }
    return out;
}

RenderOptions plain_options(const GaussianModel& model) {
    return {.antialiased = model.antialiased, .near_plane = near_plane_of(model), .depth = false};
}

Result<std::vector<double>> blend_weights(Rasterizer& rasterizer, const GaussianModel& model,
                                          std::span<const Camera> cameras,
                                          const RenderOptions& drawn, const Progress& progress) {
    const GaussianModel grey = in_grey(model);
    const auto source = rasterizer.source_of(grey);
    const auto state = rasterizer.make_state();
    RenderOptions options = drawn;
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
