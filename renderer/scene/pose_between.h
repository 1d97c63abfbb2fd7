#pragma once

#include "renderer/scene/camera.h"

namespace gs {

/// The pose at `time`, 0 first to 1 last: translations go straight, rotations by slerp.
Pose pose_between(const Pose& first, const Pose& last, double time);

}  // namespace gs
