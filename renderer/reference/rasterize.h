// The oracle's rasterizer: one Gaussian after the other, front to back, over the pixels it can
// reach. In double. Kernel tests, selftest and "verify this frame" compare against it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.h"
#include "renderer/reference/project.h"

namespace gs::reference {

/// Interleaved pictures [height][width][channels].
struct Picture {
    int width = 0, height = 0;
    std::vector<double> color;          ///< [h][w][3], background blended in
    std::vector<double> alpha, depth;   ///< [h][w]; depth = sum of weight * camera z
    std::vector<double> median_depth;   ///< [h][w] camera z of the Gaussian that brings T below 0.5
    std::vector<int> contributors;      ///< [h][w] Gaussians blended
    std::vector<std::uint8_t> fragile;  ///< [h][w] 1 where rounding in float may flip a decision
    std::vector<std::uint8_t>
        fragile_median;  ///< [h][w] the same of which Gaussian brings T below 0.5
    // For backward.
    std::vector<Projected> projected;   ///< [Gaussian]
    std::vector<std::size_t> order;     ///< visible Gaussians, front to back
    std::vector<double> transmittance;  ///< [h][w] in the end
    std::vector<std::size_t> last;      ///< [h][w] 1 + rank of the last Gaussian blended, 0 = none

    std::size_t pixels() const {
        return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    }
};
/// Pixels [x0, x1) x [y0, y1), cut to the picture.
struct Region {
    int x0 = 0, y0 = 0, x1 = 1 << 30, y1 = 1 << 30;
};
/// Only pixels of `region` are drawn; the others show the background. Bands of rows are drawn at
/// once, each pixel's arithmetic is what it is alone. `progress` may end it early: the picture is
/// incomplete then.
Picture render(const Parameters& scene, const Camera& camera, const Options& options,
               const Region& region = {}, const Progress& progress = {});

/// d loss / d picture; empty means zero.
struct PictureGradient {
    std::vector<double> color, alpha, depth;
};
struct SceneGradient {
    Parameters parameters;  ///< raw parameters: log-scales, logits, unnormalised quaternions
    std::vector<ProjectedGradient>
        projected;  ///< [Gaussian] with respect to what the picture is made of
    std::array<double, Sky::kNumbers> sky{};
};
SceneGradient render_backward(const Parameters& scene, const Camera& camera, const Options& options,
                              const Picture& picture, const PictureGradient& v);

}  // namespace gs::reference
