// A Camera's lens as renderer/math takes it: its coefficients by model, where it folds back, and
// the bounds of a Gaussian's extent. For renderers, undistortion, and Camera's own questions; make
// it once for many points.
#pragma once

#include "renderer/math/lens.h"
#include "renderer/math/project_lens.h"
#include "renderer/scene/camera.h"

namespace gs::math {

/// In double. Some 10 us where a lens is distorted: it follows the radius outwards to where the
/// lens folds back, and the picture's border.
Lens<double> make_lens(const Camera& camera);
template <class T>
Lens<T> make_lens(const Camera& camera) {
    return lens_cast<T>(make_lens(camera));
}
/// The lens at the camera's one pose.
template <class T>
LensCamera<T> make_lens_camera(const Camera& camera) {
    return lens_camera_cast<T>(
        LensCamera<double>{camera.rotation, camera.translation, make_lens(camera)});
}

}  // namespace gs::math

namespace gs {

/// True for the models that renderers draw as a Pinhole (math/project.h).
inline bool is_pinhole(const Camera& camera) {
    return camera.model == CameraModel::pinhole || camera.orthographic();
}

}  // namespace gs
