// One Gaussian through a camera (EWA splatting, Zwicker et al. 2001, as in 3DGS and gsplat), and
// back.
#pragma once

#include "renderer/reference/lens.h"
#include "renderer/reference/options.h"
#include "renderer/reference/parameters.h"
#include "renderer/scene/camera.h"

namespace gs::reference {

struct Projected {
    bool visible =
        false;         ///< in front, finite, not degenerate, its 3.33 sigma box touches the picture
    double depth = 0;  ///< camera z, or what the lens has for it
    double wrap_width = 0;    ///< px after which the picture repeats, 0: never
    Vec2<double> mean;        ///< px
    Sym2<double> conic;       ///< inverse of cov + blur I
    double opacity = 0;       ///< compensation included
    double compensation = 1;  ///< 1 unless antialiased
    Vec3d color;
    int radius_x = 0, radius_y = 0;  ///< ceil(3.33 sigma), 0 when not visible
    int x0 = 0, x1 = 0, y0 = 0,
        y1 = 0;  ///< pixels [x0, x1) x [y0, y1) outside which alpha is below the cut
};
Projected project(const Parameters& scene, std::size_t i, const DrawnCamera& camera,
                  const Options& options);

/// d loss / d what project() returns.
struct ProjectedGradient {
    Vec2<double> mean;
    Sym2<double> conic;  ///< xy: with respect to the one number conic.xy
    double opacity = 0;  ///< with respect to Projected::opacity
    double depth = 0;
    Vec3d color;
};
/// Adds to the gradients of Gaussian i.
void project_backward(const Parameters& scene, std::size_t i, const DrawnCamera& camera,
                      const Options& options, const ProjectedGradient& v, Parameters& gradients);

}  // namespace gs::reference
