// What moving a sensor does to its rays: gradients of a pose, of one that is between two others,
// too, from those of rays. A twist is a small turn and move in the sensor's own axes: the pose
// (R, t) becomes (exp(turn) R, exp(turn) t + move). Source: Sola et al. 2018, "A micro Lie theory
// for state estimation in robotics" (Jacobians of SO(3)).
#pragma once

#include "renderer/scene/camera.h"

namespace gs {

/// With respect to a twist, or a twist itself.
struct Twist {
    Vec3d turn;  ///< radians, sensor axes
    Vec3d move;  ///< world units, sensor axes
};

/// The pose at `time`, 0 first to 1 last: translations go straight, rotations by slerp.
Pose pose_between(const Pose& first, const Pose& last, double time);

/// Poses between two, prepared for many rays.
class PosePath {
  public:
    PosePath(const Pose& first, const Pose& last);
    Pose at(double time) const { return pose_between(first_, last_, time); }
    /// Adds to the gradients of both ends what a ray sent at `time` says: `direction` of length 1
    /// in the world, `v_origin` and `v_direction` d loss / d the ray.
    void add_ray_gradient(double time, Vec3d direction, Vec3d v_origin, Vec3d v_direction,
                          Twist& v_first, Twist& v_last) const;

  private:
    Pose first_, last_;
    Vec3d turn_;  ///< rotation vector that leads from the first to the last rotation
};

}  // namespace gs
