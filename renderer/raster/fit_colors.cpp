#include "renderer/raster/fit_colors.h"

#include <algorithm>
#include <numbers>
#include <vector>

#include "base/parallel.h"
#include "base/try.h"
#include "renderer/raster/blend_weights.h"

namespace gs {
namespace {

/// Adds up the harmonics' gradients. Each block comes once a picture, so that every row has one
/// writer.
class HarmonicsSink final : public GradientSink {
  public:
    HarmonicsSink(std::size_t blocks, int planes)
        : planes_(static_cast<std::size_t>(planes - kSh0)), sums_(blocks * planes_ * kBlock) {}
    void take(const BlockGradients& g) override {
        float* to = sums_.data() + g.block * planes_ * kBlock;
        const float* from = &g.planes[kSh0][0];
        for (std::size_t i = 0; i < planes_ * kBlock; ++i) to[i] += from[i];
    }
    float sum(int plane, std::size_t row) const {
        return sums_[((row / kBlock) * planes_ + static_cast<std::size_t>(plane - kSh0)) * kBlock +
                     row % kBlock];
    }
    void fade(float by) {
        for (float& sum : sums_) sum *= by;
    }

  private:
    std::size_t planes_;
    std::vector<float> sums_;  // [block][plane][16]
};

constexpr float kMomentum = 0.7f;  // heavy ball (Polyak 1964): some three times as far a pass

/// What times gradient / weight is a step. A pixel's weights sum to at most 1, and so do the
/// squares of a row's basis functions times these steps: then no step is too long. Half for the
/// constant one (1 / 4 pi), half for the 15 others (15 / 4 pi).
float step_of(int plane, int planes) {
    const double pi = std::numbers::pi;
    if (planes == kShRest) return static_cast<float>(4 * pi);
    return static_cast<float>(plane < kShRest ? 2 * pi : 2 * pi / 15);
}

}  // namespace

Result<void> fit_colors(Rasterizer& rasterizer, const GaussianModel& target, GaussianModel& model,
                        std::span<const Camera> cameras, int passes, const Progress& progress) {
    const RenderOptions options = plain_options(model);
    RenderOptions wanted = plain_options(target);
    wanted.gradients = false;
    GS_TRY(auto weights, blend_weights(rasterizer, model, cameras, options, progress));
    const auto goal = rasterizer.source_of(target);
    const auto goal_state = rasterizer.make_state(), state = rasterizer.make_state();
    RenderResult goal_picture, picture;
    PixelGradients residual;
    HarmonicsSink sink(model.blocks(), model.planes());
    const std::size_t total = static_cast<std::size_t>(passes) * cameras.size();
    for (int pass = 0; pass < passes; ++pass) {
        sink.fade(kMomentum);
        const auto source = rasterizer.source_of(model);
        for (std::size_t i = 0; i < cameras.size(); ++i) {
            const std::size_t done = static_cast<std::size_t>(pass) * cameras.size() + i;
            if (progress && !progress("colours", done, total))
                return fail(ErrorKind::cancelled, "", "fitting colours was stopped");
            rasterizer.forward(*goal, cameras[i], wanted, *goal_state, goal_picture);
            rasterizer.forward(*source, cameras[i], options, *state, picture);
            residual.color.resize(picture.width, picture.height, 3);
            const ImageF &is = picture.color, &should = goal_picture.color;
            parallel_for(is.values.size(), 16384, [&](std::size_t k) {
                residual.color.values[k] = is.values[k] - should.values[k];
            });
            rasterizer.backward(*source, cameras[i], options, *state, picture, residual, sink);
        }
        parallel_for(model.count, 1024, [&](std::size_t row) {
            const auto weight = static_cast<float>(weights[row]);
            if (!(weight > 0)) return;
            for (int plane = kSh0; plane < model.planes(); ++plane)
                model.at(plane, row) -=
                    step_of(plane, model.planes()) * sink.sum(plane, row) / weight;
        });
    }
    return {};
}

}  // namespace gs
