// The oracle's exact renderer: every Gaussian tried on every ray, in double (math/along_ray.h). For
// pictures of any lens and shutter, and for lidar sweeps: a ray is a ray. What is blended beside
// the hit distance are three numbers a Gaussian: a colour, or a lidar's intensity and ray drop.
#pragma once

#include <span>
#include <vector>

#include "renderer/reference/options.h"
#include "renderer/reference/parameters.h"
#include "renderer/scene/camera.h"

namespace gs::reference {

/// Rays of a picture, row by row through the pixels' centres, each from the pose of its own moment.
std::vector<CameraRay> rays_of(const Camera& camera);
/// Gaussians nearest first by camera z (a panorama's by distance), as seen from the camera's one
/// pose; what lies outside Options' near and far plane is left out.
std::vector<std::size_t> order_along(const Parameters& scene, const Camera& camera,
                                     const Options& options);
/// The same by distance from a place, without a near plane.
std::vector<std::size_t> order_around(const Parameters& scene, Vec3d place);

/// [ray]; what hits nothing has the background and zeros. So do invalid rays.
struct RayPicture {
    std::vector<Vec3d> signal;   ///< sum of weight x signal, background blended in
    std::vector<double> alpha;   ///< sum of weights
    std::vector<double> hit;     ///< sum of weight x distance along the ray, world units
    std::vector<double> median;  ///< distance of the Gaussian that brings T below 0.5
    std::vector<int> contributors;
    std::vector<std::uint8_t> fragile;  ///< 1 where rounding in float may flip a decision
    // For backward.
    std::vector<double> transmittance;  ///< in the end
    std::vector<std::size_t> last;      ///< 1 + rank of the last Gaussian blended, 0 = none
};
/// `signals` [Gaussian]; `order`: what is blended, front to back. Gaussians behind a ray's origin
/// are left out, and alphas below Options::alpha_min; no blur is added, nothing is boxed.
RayPicture render_rays(const Parameters& scene, std::span<const Vec3d> signals,
                       std::span<const std::size_t> order, std::span<const CameraRay> rays,
                       const Options& options);

/// d loss / d picture, [ray]; empty means zero.
struct RayPictureGradient {
    std::vector<Vec3d> signal;
    std::vector<double> alpha, hit;
};
struct RayGradient {
    Parameters parameters;       ///< raw parameters; those of colours are zero, see `signals`
    std::vector<Vec3d> signals;  ///< [Gaussian]
    std::vector<Vec3d> origin, direction;  ///< [ray]; the direction's three numbers taken as free
};
RayGradient render_rays_backward(const Parameters& scene, std::span<const Vec3d> signals,
                                 std::span<const std::size_t> order,
                                 std::span<const CameraRay> rays, const Options& options,
                                 const RayPicture& picture, const RayPictureGradient& v);

}  // namespace gs::reference
