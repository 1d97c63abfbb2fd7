// What every backend derives from a camera before it draws: the profile's rules with the caller's
// overrides, and the view volume that blocks of Gaussians are tested against. Host part in
// view_setup.cpp, the test itself for host and device.
#pragma once

#include "base/vec.h"
#include "renderer/math/scalar.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// The profile's rules, with the near plane that the options ask for.
RasterRules rules_for(const RenderOptions& options);
/// A pixel ends when its next transmittance would be this or less; folds RasterRules::stop_at_equal
/// in.
float ending_transmittance(const RasterRules& rules);
/// SH degree that will be evaluated.
int used_sh_degree(const RenderOptions& options, int model_sh_degree);

/// Stops the program where a camera cannot be drawn through, or not with these options.
void check_drawable(const Camera& camera, const RenderOptions& options);
/// A Gaussian is seen along Pinhole::w_from_z * mean - this: the eye, or what points against
/// parallel rays.
Vec3f ray_origin(const Camera& camera);

/// The four side planes, { p : dot(normal, p) + offset = 0 }: unit normals in camera axes, pointing
/// inwards; a pinhole's go through the camera. They are those of the picture, widened: the EWA
/// footprint of an off-axis Gaussian is an approximation and carries a pixel of blur.
template <class T>
struct ViewSides {
    Vec3<T> normal[4];
    T offset[4];
};
ViewSides<double> view_sides(const Camera& camera);

/// Whether anything inside a sphere can draw. `center` in camera axes, `radius` finite and not
/// negative.
template <class T>
GS_HD bool sphere_may_show(const ViewSides<T>& sides, Vec3<T> center, T radius, T near_plane) {
    if (center.z + radius <= near_plane) return false;
    // Near or wide Gaussians: the Jacobian's linear footprint may exceed the true cone. Keep
    // everything close.
    if (center.z < T(4.0f) * radius) return true;
    bool inside = true;
    for (int side = 0; side < 4; ++side)
        inside =
            inside && dot(sides.normal[side], center) + sides.offset[side] >= T(-1.3f) * radius;
    return inside;
}

}  // namespace gs
