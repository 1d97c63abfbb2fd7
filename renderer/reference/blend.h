// Blending at one pixel, forward and back: what a Gaussian is there, and what it does to the light
// that is left. Here so that the oracle's pictures (rasterize.cpp) and the answer to "why does this
// pixel look so" (renderer/inspect) are one arithmetic.
#pragma once

#include "renderer/reference/project.h"

namespace gs::reference {

/// A projected Gaussian at the centre of a pixel.
struct Evaluation {
    double dx, dy;    ///< pixel centre minus mean, px
    double gaussian;  ///< exp(-sigma), 1 at the mean
    double alpha;     ///< at most Options::alpha_max
    bool blends;      ///< not below Options::alpha_min
    bool clamped;     ///< would be above alpha_max
};
Evaluation evaluate(const Projected& p, int x, int y, const Options& options);

/// What became of a Gaussian at a pixel.
enum class Fate {
    blended,
    faint,  ///< alpha below the cut
    ends,  ///< it would have left less light than Options::transmittance_min: the pixel ends before
           ///< it
    after,  ///< the pixel had ended
};

/// A pixel on its way front to back. All that it becomes but the background.
struct PixelBlend {
    double transmittance = 1;
    Vec3d color{0, 0, 0};
    double alpha = 0, depth = 0;  ///< depth: sum of weight x camera z
    double median_depth = 0;
    int contributors = 0;
    bool fragile = false, fragile_median = false;  ///< rounding in float may decide otherwise
    bool done = false;
    double last_depth = 0;

    /// Blends `p`, whose evaluation here is `e`.
    Fate add(const Projected& p, const Evaluation& e, const Options& options);
};

/// A pixel on its way back to front.
struct PixelBackward {
    double transmittance = 1;  ///< behind the Gaussian under way
    double behind = 0;         ///< what everything further back contributes to the loss
    Vec3d v_color{0, 0, 0};    ///< d loss / d the pixel's colour, and so on
    double v_alpha = 0, v_depth = 0;

    struct Step {
        double weight;   ///< d loss / d its colour is weight x v_color
        double v_alpha;  ///< d loss / d its alpha here
    };
    /// Past a Gaussian that was blended.
    Step pass(const Projected& p, const Evaluation& e);
};

/// Front to back is by depth in float, ties by index, as every program in the field sorts: for a
/// stable sort.
inline bool in_front(const Projected& a, const Projected& b) {
    return static_cast<float>(a.depth) < static_cast<float>(b.depth);
}

}  // namespace gs::reference
