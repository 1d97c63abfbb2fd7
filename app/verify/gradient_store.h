// A backend's gradients in the reference's layout, for comparisons with it.
#pragma once

#include <vector>

#include "renderer/raster/rasterizer.h"
#include "renderer/reference/parameters.h"

namespace gs {

/// Where gradients go: zero for what was not visible. Each block is written by one thread, once.
class GradientStore final : public GradientSink {
  public:
    /// `like`: a GaussianModel or reference::Parameters.
    template <class Model>
    explicit GradientStore(const Model& like)
        : gradients(like.count, like.sh_degree), mean2d(2 * like.count) {}
    void take(const BlockGradients& g) override {
        for (std::size_t lane = 0; lane < kBlock; ++lane) {
            const std::size_t i = g.block * kBlock + lane;
            if ((g.mask >> lane & 1) == 0 || i >= gradients.count) continue;
            for (int p = 0; p < gradients.planes(); ++p)
                gradients.at(p, i) = static_cast<double>(g.planes[p][lane]);
            mean2d[2 * i] = g.mean2d[0][lane];
            mean2d[2 * i + 1] = g.mean2d[1][lane];
        }
    }
    reference::Parameters gradients;
    std::vector<float> mean2d;  ///< [Gaussian][2] BlockGradients::mean2d
};

}  // namespace gs
