#include "tests/support/raster_run.h"

#include <mutex>

namespace gs::test {
namespace {

// Stores every block where it belongs. Counts calls: each block may come once at most.
class StoringSink final : public GradientSink {
  public:
    StoringSink(const GaussianModel& model, const RenderOptions& options, DrawnGradients& out)
        : out_(out), options_(options) {
        out_.parameters = reference::Parameters(model.count, model.sh_degree);
        out_.mean2d.assign(2 * model.count, 0.0);
        out_.visible.assign(model.count, 0);
        out_.taken.assign(model.blocks(), 0);
    }
    void take(const BlockGradients& g) override {
        const std::lock_guard lock(mutex_);
        ++out_.taken.at(g.block);
        for (std::size_t lane = 0; lane < kBlock; ++lane) {
            const std::size_t i = g.block * kBlock + lane;
            if (i >= out_.parameters.count) continue;
            out_.visible[i] = (g.mask >> lane) & 1u;
            for (int p = 0; p < out_.parameters.planes(); ++p)
                out_.parameters.at(p, i) = static_cast<double>(g.planes[p][lane]);
            out_.mean2d[2 * i] = static_cast<double>(g.mean2d[0][lane]);
            out_.mean2d[2 * i + 1] = static_cast<double>(g.mean2d[1][lane]);
        }
        for (std::size_t i = 0; options_.motion && i < 6; ++i)
            out_.motion[i] += static_cast<double>(g.motion[i]);
        for (std::size_t i = 0; options_.intrinsics && i < out_.intrinsics.size(); ++i)
            out_.intrinsics[i] += static_cast<double>(g.intrinsics[i]);
    }

  private:
    std::mutex mutex_;
    DrawnGradients& out_;
    const RenderOptions& options_;
};

std::vector<double> widened(const float* values, std::size_t count) {
    return {values, values + count};
}

}  // namespace

ImageF planes_from(const std::vector<double>& interleaved, int width, int height, int channels) {
    ImageF out;
    if (interleaved.empty()) return out;
    out.resize(width, height, channels);
    for (std::size_t i = 0; i < out.pixels(); ++i)
        for (int c = 0; c < channels; ++c)
            out.plane(c)[i] = static_cast<float>(
                interleaved[i * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)]);
    return out;
}

RasterRun::RasterRun(std::unique_ptr<Rasterizer> rasterizer)
    : rasterizer_(std::move(rasterizer)), state_(rasterizer_->make_state()) {}

Drawn RasterRun::draw(const GaussianModel& model, const Camera& camera,
                      const RenderOptions& options, bool with_bounds) {
    model_ = model;
    camera_ = camera;
    options_ = options;
    with_bounds_ = with_bounds;
    if (with_bounds_) compute_bounds(model_, bounds_);
    ModelSource source(model_, with_bounds_ ? bounds_.span() : std::span<const BlockBounds>{});
    rasterizer_->forward(source, camera_, options_, *state_, result_);
    Drawn out;
    out.result = result_;
    const std::size_t pixels = result_.color.pixels();
    for (std::size_t i = 0; i < pixels; ++i)
        for (int c = 0; c < 3; ++c)
            out.color.push_back(static_cast<double>(result_.color.plane(c)[i]));
    out.alpha = widened(result_.alpha.plane(0), pixels);
    if (options.depth) out.depth = widened(result_.depth.plane(0), pixels);
    if (options.median_depth) out.median_depth = widened(result_.median_depth.plane(0), pixels);
    if (options.counters)
        out.contributors.assign(result_.contributors.begin(), result_.contributors.end());
    return out;
}

DrawnGradients RasterRun::backward(const reference::PictureGradient& v) {
    DrawnGradients out;
    StoringSink sink(model_, options_, out);
    PixelGradients pixels{.color = planes_from(v.color, camera_.width, camera_.height, 3),
                          .alpha = planes_from(v.alpha, camera_.width, camera_.height, 1),
                          .depth = planes_from(v.depth, camera_.width, camera_.height, 1)};
    ModelSource source(model_, with_bounds_ ? bounds_.span() : std::span<const BlockBounds>{});
    rasterizer_->backward(source, camera_, options_, *state_, result_, pixels, sink);
    return out;
}

reference::Options reference_options(const RenderOptions& options, const Sky& sky) {
    const RasterRules rules = rules_of(options.compatibility);
    reference::Options out;
    out.background = {static_cast<double>(options.background.x),
                      static_cast<double>(options.background.y),
                      static_cast<double>(options.background.z)};
    if (options.sky) out.sky = sky;
    out.sh_degree = options.sh_degree;
    out.scale_modifier = static_cast<double>(options.scale_modifier);
    out.antialiased = options.antialiased;
    out.blur = static_cast<double>(options.blur);
    out.near_plane =
        static_cast<double>(options.near_plane > 0 ? options.near_plane : rules.near_plane);
    out.clip = options.clip;
    out.unscented = options.projection == ProjectionMethod::ut;
    out.alpha_max = static_cast<double>(rules.alpha_max);
    out.alpha_min = static_cast<double>(rules.alpha_min);
    out.transmittance_min = static_cast<double>(rules.transmittance_min);
    out.stop_at_equal = rules.stop_at_equal;
    out.square_sigma = rules.square_extent ? static_cast<double>(rules.extent_sigma) : 0;
    return out;
}

reference::PictureGradient without_fragile(reference::PictureGradient v,
                                           const std::vector<std::uint8_t>& fragile) {
    for (std::size_t i = 0; i < fragile.size(); ++i) {
        if (fragile[i] == 0) continue;
        for (std::size_t c = 0; c < 3 && !v.color.empty(); ++c) v.color[3 * i + c] = 0;
        if (!v.alpha.empty()) v.alpha[i] = 0;
        if (!v.depth.empty()) v.depth[i] = 0;
    }
    return v;
}

}  // namespace gs::test
