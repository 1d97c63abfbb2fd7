#include "renderer/scene/pose_twist.h"

#include <cmath>

namespace gs {
namespace {

/// The rotation vector of a rotation, of at most pi.
Vec3d rotation_vector(const Mat3d& r) {
    Quatd q = quat_from_rotation(r);
    if (q.w < 0) q = {-q.w, -q.x, -q.y, -q.z};
    const Vec3d v{q.x, q.y, q.z};
    const double sine = std::sqrt(dot(v, v));
    // angle / sin(angle / 2), which is 2 where nothing turns.
    return (sine < 1e-12 ? 2.0 : 2 * std::atan2(sine, q.w) / sine) * v;
}

/// a v + b w x v + c w (w . v): both Jacobians below are of this kind.
Vec3d bent(double a, double b, double c, Vec3d w, Vec3d v) {
    return a * v + b * cross(w, v) + (c * dot(w, v)) * w;
}
/// The left Jacobian of SO(3) at rotation vector `w`, times v: exp(w + d) = exp(J d) exp(w).
Vec3d left_jacobian(Vec3d w, Vec3d v) {
    const double square = dot(w, w), angle = std::sqrt(square);
    if (angle < 1e-4) return bent(1 - square / 6, 0.5 - square / 24, 1.0 / 6, w, v);
    const double s = std::sin(angle) / angle;
    return bent(s, (1 - std::cos(angle)) / square, (1 - s) / square, w, v);
}
/// Its inverse, times v.
Vec3d left_jacobian_inverse(Vec3d w, Vec3d v) {
    const double square = dot(w, w), half = 0.5 * std::sqrt(square);
    if (half < 1e-4) return bent(1 - square / 12, -0.5, 1.0 / 12, w, v);
    const double c = half / std::tan(half);
    return bent(c, -0.5, (1 - c) / square, w, v);
}

}  // namespace

Pose pose_between(const Pose& first, const Pose& last, double time) {
    const Quatd q =
        slerp(quat_from_rotation(first.rotation), quat_from_rotation(last.rotation), time);
    return {rotation_from_quat(q), (1 - time) * first.translation + time * last.translation};
}

PosePath::PosePath(const Pose& first, const Pose& last)
    : first_(first),
      last_(last),
      turn_(rotation_vector(last.rotation * transpose(first.rotation))) {}

void PosePath::add_ray_gradient(double time, Vec3d direction, Vec3d v_origin, Vec3d v_direction,
                                Twist& v_first, Twist& v_last) const {
    const Pose pose = at(time);
    // The ray starts at -R^T t and goes along R^T d.
    const Vec3d g_origin = pose.rotation * v_origin, g_direction = pose.rotation * v_direction;
    const Vec3d v_translation = -g_origin, v_turn = cross(pose.translation, g_origin) +
                                                    cross(g_direction, pose.rotation * direction);
    const auto add = [&](const Pose& end, double share, Vec3d towards, Twist& out) {
        out.move += share * v_translation;
        out.turn += share * cross(end.translation, v_translation);
        // A turn w of this end turns the pose by share J(share towards) J^-1(towards) w; the
        // transpose of J(w) is J(-w).
        out.turn +=
            share * left_jacobian_inverse(-towards, left_jacobian(-share * towards, v_turn));
    };
    add(first_, 1 - time, -turn_, v_first);
    add(last_, time, turn_, v_last);
}

}  // namespace gs
