// Placing the viewport's camera: fitting a capture camera's pose into the viewport, framing a scene, looking at a
// point. Pure functions for the view commands; steering by mouse and keys is the viewport panel's.
#pragma once

#include "panels/snapshot.h"

namespace gs {

/// Pose and vertical field of view of `pose`, size of `size`, principal point in the middle.
Camera with_size_of(const Camera& pose, const Camera& size);
/// The direction of `current` (or from a little above when it has no size yet), far enough back to see the whole scene.
Camera camera_on_all(const SceneInfo& scene, const Camera& current);
/// Where a scene is first seen from: its first capture camera, else camera_on_all().
Camera first_camera(const SceneInfo& scene, const std::vector<CameraRow>& rows, const Camera& size);
/// The same position, turned so that `target` is in the middle of the picture.
Camera turned_to(const Camera& camera, Vec3d target, Vec3d up);

}  // namespace gs
