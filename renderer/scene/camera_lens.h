// A Camera's lens as renderer/math takes it: its coefficients by model, where it folds back, and
// the bounds of a Gaussian's extent. For renderers, undistortion, and Camera's own questions; make
// it once for many points.
#pragma once

#include <span>

#include "renderer/math/lens.h"
#include "renderer/math/lens_numbers.h"
#include "renderer/math/project_lens.h"
#include "renderer/scene/camera.h"

namespace gs::math {

/// In double. Some 20 us where a lens is distorted: it follows the radius outwards to where the
/// lens folds back, and the picture's border.
Lens<double> make_lens(const Camera& camera);
/// For points and rays alone, without the bounds of a Gaussian's extent: a third of that.
Lens<double> make_point_lens(const Camera& camera);
template <class T>
Lens<T> make_lens(const Camera& camera) {
    return lens_cast<T>(make_lens(camera));
}
/// Which numbers of a Lens the numbers of Camera::distortion are, in their order; none where the
/// model has no distortion, or one of another kind (ftheta).
std::span<const LensNumber> distortion_numbers(CameraModel model);
/// Whether depth through its lens is the distance from the camera (Lens::by_distance).
bool measures_distance(const Camera& camera);
/// Off where the poses of first and last row are the same.
Rolling<double> make_rolling(const Camera& camera);
template <class T>
LensCamera<T> make_lens_camera(const Camera& camera) {
    return lens_camera_cast<T>(LensCamera<double>{camera.rotation, camera.translation,
                                                  make_lens(camera), make_rolling(camera)});
}

}  // namespace gs::math

namespace gs {

/// Many points through a camera: what Camera's questions about one answer, the lens made once.
class CameraPixels {
  public:
    explicit CameraPixels(const Camera& camera);
    /// Camera::pixel_of.
    Vec2<double> pixel_of(Vec3d camera_point) const;
    /// Camera::depth_of.
    double depth_of(Vec3d camera_point) const { return math::lens_depth(lens_, camera_point); }
    /// Camera::ray_of.
    CameraRay ray_of(double x, double y) const;

  private:
    bool pinhole_;
    math::Lens<double> lens_;
    math::Rolling<double> shutter_;
    Pose at_half_;  ///< the one pose
    bool rolling_;
    Pose first_, last_;
};

/// True for the models without distortion whose picture is flat, whatever the shutter.
inline bool is_pinhole(const Camera& camera) {
    return camera.model == CameraModel::pinhole || camera.orthographic();
}
/// True for what renderers draw as a Pinhole (math/project.h): no distortion, one pose.
inline bool draws_as_pinhole(const Camera& camera) {
    return is_pinhole(camera) && (!camera.rolling() || !math::make_rolling(camera).on);
}

}  // namespace gs
