// Means through any lens and shutter, with the derivatives that a Gaussian's extent and gradients
// need. The lens's formula is math's (held by stored numbers); the derivatives are the oracle's
// own.
#pragma once

#include <optional>

#include "renderer/math/project_lens.h"
#include "renderer/reference/jet.h"
#include "renderer/scene/camera.h"

namespace gs::reference {

/// A camera to draw through. A pinhole with one pose is drawn by its own formulas (project.cpp)
/// unless by the unscented transform, parallel rays always.
struct DrawnCamera {
    Camera camera;
    bool straight;                              ///< a pinhole with one pose, or parallel rays
    std::optional<math::LensCamera<Jet>> lens;  ///< of all but parallel rays

    DrawnCamera(const Camera& c);  // implicit: making it is cheap beside a picture
    /// px after which the picture repeats, else 0.
    double wrap_width() const { return lens ? lens->lens.wrap_width.value : 0; }
};

struct Mat2x3 {
    double m[2][3];
};
/// Where a mean falls. All derivatives are by the mean in the world.
struct LensPlace {
    bool valid = false;
    bool bounded = false;  ///< beyond the bounds of the extent's slopes
    Vec2<double> pixel;
    double depth = 0;
    Vec3d depth_slope;
    Mat2x3 slope;      ///< d pixel
    Mat2x3 footprint;  ///< what the extent is projected with: slope, but bounded (math/lens.h)
    Mat2x3 bend[3];    ///< d footprint by each axis
};
LensPlace place_through(const math::LensCamera<Jet>& camera, Vec3d mean);

}  // namespace gs::reference
