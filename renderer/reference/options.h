// Options of the reference. Plain numbers; the backends' compatibility profiles are translated
// into them by their tests.
#pragma once

#include <optional>

#include "base/vec.h"
#include "renderer/scene/clip_box.h"
#include "renderer/scene/sky.h"

namespace gs::reference {

struct Options {
    Vec3d background{0, 0, 0};
    Sky sky;                      ///< in place of it, where there is one
    int sh_degree = 3;            ///< bases above are ignored; limited by the scene's own degree
    double scale_modifier = 1;    ///< multiplies every standard deviation
    bool antialiased = false;     ///< opacity * sqrt(max(det(cov) / det(cov + blur I), 0.005^2))
    double blur = 0.3;            ///< px^2, added to the diagonal of the 2D covariance
    double near_plane = 0.01;     ///< Gaussians with depth <= this are dropped
    double far_plane = 1e10;      ///< and with depth >= this
    std::optional<ClipBox> clip;  ///< and with means outside
    bool unscented = false;       ///< by seven points each (unscented.h), not by the Jacobian
    double alpha_max = 0.99;
    double alpha_min = 1.0 / 255.0;
    double transmittance_min =
        1e-4;  ///< a pixel ends before the Gaussian that would bring it here or below
    bool stop_at_equal = true;  ///< false: only below
    double square_sigma =
        0;  ///< > 0: drawn only in 16x16 tiles that a square of ceil(this * larger sigma) touches
    bool detach_direction = false;  ///< leave out the mean's gradient through the view direction
};

}  // namespace gs::reference
