// Compares a backend's picture and gradients with the double-precision reference in a few numbers:
// for bench before it times anything, and for selftest's stages. The comparison is
// app/verify/frame_check.h.
#pragma once

#include "app/verify/frame_check.h"
#include "renderer/raster/rasterizer.h"

namespace gs::cli {

struct Verification {
    std::size_t pixels = 0, fragile = 0;
    double color = 0, alpha = 0;   ///< largest differences
    double depth = 0;              ///< largest difference over the largest depth
    std::size_t contributors = 0;  ///< counts that differ, over all pixels
    double gradient = -1;          ///< relative L2 over all parameters; negative: not asked for
    bool ok() const {
        return color <= kColorLimit && alpha <= kColorLimit && contributors == 0 &&
               (gradient < 0 || gradient <= kGradientLimit);
    }
};
/// Draws `model` with both. The reference is slow: keep pictures small.
Verification verify_frame(const GaussianModel& model, const Camera& camera,
                          const RenderOptions& options, Rasterizer& rasterizer, bool gradients);
/// Every n-th Gaussian, such that at most `limit` are left.
GaussianModel thinned(const GaussianModel& model, std::size_t limit);

}  // namespace gs::cli
