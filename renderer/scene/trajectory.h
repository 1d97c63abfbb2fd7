// Where something that moves was at any moment, from poses at some: a lidar, whose every beam has
// a moment of its own, or the car it stands on. Used by the readers of drives and by what sends a
// sweep's rays.
#pragma once

#include <cstddef>
#include <vector>

#include "renderer/scene/camera.h"

namespace gs {

struct TimedPose {
    double time = 0;       ///< s
    Pose world_from_body;  ///< p_world = rotation * p_body + translation
};

class Trajectory {
  public:
    /// Poses whose time is not finite, or not later than that of the pose kept before, are left
    /// out and counted in `left_out`; so are poses that are not finite.
    explicit Trajectory(const std::vector<TimedPose>& poses = {}, std::size_t* left_out = nullptr);

    /// Between two poses the position is interpolated linearly and the rotation by slerp. Beyond
    /// the ends the motion of the outermost piece continues, for at most that piece's own time.
    /// Without poses: identity.
    Pose at(double time) const;
    const std::vector<TimedPose>& poses() const { return poses_; }
    /// World units.
    double length() const;

  private:
    std::vector<TimedPose> poses_;
};

/// The pose that leads back.
Pose inverse_of(const Pose& pose);
/// First b, then a.
Pose operator*(const Pose& a, const Pose& b);
inline Vec3d operator*(const Pose& a, Vec3d p) { return a.rotation * p + a.translation; }

}  // namespace gs
