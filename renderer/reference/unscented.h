// One Gaussian by the unscented transform, as the papers have it: weights, weighted sums, each
// point through the whole camera on jets. What math/unscented.h folds together stands apart here.
#pragma once

#include "renderer/reference/lens.h"

namespace gs::reference {

/// Of Julier and Uhlmann 1997; 3DGUT's values.
struct SigmaConstants {
    double alpha = 1, beta = 2, kappa = 0;
};
struct SigmaPoint {
    double mean_weight, cov_weight;
    int axis = 0;     ///< of the Gaussian
    double side = 0;  ///< mean + side * scale * axis; 0: the mean itself
    Vec2<double> pixel;
    Mat2x3 by_mean;    ///< d pixel by the Gaussian's mean in the world
    Mat2x3 by_offset;  ///< and by how far the point lies from it
};
struct SigmaPlace {
    LensPlace middle;  ///< the mean alone, through the same camera; says valid and depth
    SigmaPoint points[7];
    Vec2<double> mean;  ///< px
    Sym2<double> cov;   ///< px^2, no blur
};
/// `rotation`: world_from_gaussian. An axis with a point that the lens does not see, or beyond the
/// bounds of the mean's Jacobian, has both where that Jacobian puts them.
SigmaPlace sigma_place(const math::LensCamera<Jet>& camera, Vec3d mean, Vec3d scale,
                       const Mat3d& rotation, const SigmaConstants& constants = {});

/// d loss / d what a Gaussian is made of.
struct SigmaGradient {
    Vec3d mean;
    double scale[3] = {};
    Mat3d rotation;
};
/// `v_cov`: symmetric matrix. Without depth.
SigmaGradient sigma_backward(const SigmaPlace& place, Vec3d scale, const Mat3d& rotation,
                             Vec2<double> v_mean, Sym2<double> v_cov);

}  // namespace gs::reference
