// What every backend derives from a camera before it draws: the profile's rules with the caller's
// overrides, and the view volume that blocks of Gaussians are tested against. Host part in
// view_setup.cpp, the test itself for host and device.
#pragma once

#include <variant>

#include "base/vec.h"
#include "renderer/math/project.h"
#include "renderer/math/unscented.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// The profile's rules, with the near plane that the options ask for.
RasterRules rules_for(const RenderOptions& options);
/// A pixel ends when its next transmittance would be this or less; folds RasterRules::stop_at_equal
/// in.
float ending_transmittance(const RasterRules& rules);
/// SH degree that will be evaluated.
int used_sh_degree(const RenderOptions& options, int model_sh_degree);

/// After how many px the picture repeats from its other side (equirectangular: its width), or 0.
float wrap_width(const Camera& camera);
/// Whether Gaussians are projected by the unscented transform, and whether by the form for any lens
/// (math::LensCamera): by that, or as the camera does not draws_as_pinhole().
bool draws_unscented(const Camera& camera, const RenderOptions& options);
bool draws_through_lens(const Camera& camera, const RenderOptions& options);
/// A camera as renderer/math takes it: the first of these unless draws_through_lens(), the last
/// where draws_unscented().
using CameraConstants =
    std::variant<math::Pinhole<float>, math::LensCamera<float>, math::UnscentedCamera<float>>;
CameraConstants camera_constants(const Camera& camera, const RenderOptions& options);
/// What a straight camera is; of others their pose.
math::Pinhole<float> pinhole_of(const Camera& camera);
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

/// The cone around the optical axis that holds all a lens shows; half its angle may be anything up
/// to 180 degrees. With a rolling shutter: of the pose at half the read-out, widened for the
/// others.
template <class T>
struct ViewCone {
    T cosine, sine;    ///< of half its angle
    T reach;           ///< what radii gain, world units: how far the shutter's poses are apart
    bool by_distance;  ///< depth is the distance from the camera, not camera z
};
/// `lens`: the camera's.
ViewCone<double> view_cone(const Camera& camera, const math::Lens<double>& lens);
inline ViewCone<float> to_float(const ViewCone<double>& c) {
    return {static_cast<float>(c.cosine), static_cast<float>(c.sine), static_cast<float>(c.reach),
            c.by_distance};
}

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
template <class T>
GS_HD bool sphere_may_show(const ViewCone<T>& cone, Vec3<T> center, T radius, T near_plane) {
    const T distance = math::sqrt(dot(center, center)), grown = radius + cone.reach;
    const T depth = cone.by_distance ? distance : center.z;
    if (depth + grown <= near_plane) return false;
    if (depth < T(4.0f) * grown) return true;
    // The distance from the cone's surface, outside of it, or less: behind its tip.
    const T beside = math::sqrt(center.x * center.x + center.y * center.y);
    return beside * cone.cosine - center.z * cone.sine <= T(1.3f) * grown;
}

}  // namespace gs
