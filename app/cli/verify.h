// A backend's picture and gradients against the double-precision reference: what bench asks before
// it times anything, and selftest for every stage. Fragile pixels (where rounding in float may flip
// a decision) are left out on both sides.
#pragma once

#include "renderer/raster/rasterizer.h"

namespace gs::cli {

inline constexpr double kColorLimit = 2e-5;     ///< largest difference of colour or alpha
inline constexpr double kGradientLimit = 1e-4;  ///< relative L2

struct Verification {
    std::size_t pixels = 0, fragile = 0;
    double color = 0, alpha = 0;   ///< largest differences
    double depth = 0;              ///< largest difference over the largest depth
    std::size_t contributors = 0;  ///< pixels with another count
    double gradient = -1;          ///< relative L2 over all parameters; negative: not asked for
    bool ok() const {
        return color <= kColorLimit && alpha <= kColorLimit && contributors == 0 &&
               (gradient < 0 || gradient <= kGradientLimit);
    }
};
/// Draws `model` with both. The reference is serial: keep pictures small.
Verification verify_frame(const GaussianModel& model, const Camera& camera,
                          const RenderOptions& options, Rasterizer& rasterizer, bool gradients);
/// Every n-th Gaussian, such that at most `limit` are left.
GaussianModel thinned(const GaussianModel& model, std::size_t limit);

}  // namespace gs::cli
