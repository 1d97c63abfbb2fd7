// Draws a model with a backend and brings pictures and gradients into the oracle's layout, for
// comparisons.
#pragma once

#include <array>
#include <memory>

#include "renderer/raster/rasterizer.h"
#include "renderer/reference/rasterize.h"

namespace gs::test {

struct Drawn {
    RenderResult result;
    std::vector<double> color;  ///< [h][w][3]
    std::vector<double> alpha, depth, median_depth;
    std::vector<int> contributors;  ///< [h][w], empty without options.counters
};
struct DrawnGradients {
    reference::Parameters parameters;
    std::vector<double> mean2d;         ///< [Gaussian][2]
    std::vector<int> taken;             ///< [block] how often the sink was called
    std::vector<std::uint8_t> visible;  ///< [Gaussian]
    std::array<double, 6> motion{};     ///< SceneMotion's turn and move, where options ask for it
    std::array<double, math::kLensNumbers> intrinsics{};  ///< likewise
};

class RasterRun {
  public:
    explicit RasterRun(std::unique_ptr<Rasterizer> rasterizer);
    /// `with_bounds`: lets the rasterizer cull whole blocks.
    Drawn draw(const GaussianModel& model, const Camera& camera, const RenderOptions& options,
               bool with_bounds = false);
    /// Of the last draw(), with its arguments.
    DrawnGradients backward(const reference::PictureGradient& v);
    /// Of the last backward(), with options.costs.
    const BlendCosts& backward_costs() const { return state_->backward_costs(); }

  private:
    std::unique_ptr<Rasterizer> rasterizer_;
    std::unique_ptr<ForwardState> state_;
    GaussianModel model_;
    Buffer<BlockBounds> bounds_;
    bool with_bounds_ = false;
    Camera camera_;
    RenderOptions options_;
    RenderResult result_;  ///< reused from draw to draw, as the studio does
};

/// [height][width][channels] as planes; empty stays empty.
ImageF planes_from(const std::vector<double>& interleaved, int width, int height, int channels);
/// The same picture asked of the oracle.
reference::Options reference_options(const RenderOptions& options, const Sky& sky = {});
/// The same upstream gradient with nothing at fragile pixels, so that a flipped decision there
/// cannot matter.
reference::PictureGradient without_fragile(reference::PictureGradient v,
                                           const std::vector<std::uint8_t>& fragile);

}  // namespace gs::test
