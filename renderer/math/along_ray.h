// A 3D Gaussian as a ray meets it, nothing projected: how near to the mean the ray comes in the
// Gaussian's own measure (which is what dims it), and how far along the ray that happens. Exact for
// every lens, and the way of a lidar's beams. Each f with its f_vjp. Sources: Moenne-Loccoz et al.
// 2024 (3DGRT), Wu et al. 2025 (3DGUT): space stretched so that the Gaussian is a unit ball.
#pragma once

#include "renderer/math/project.h"

namespace gs::math {

/// M = S^-1 R^T, which makes the Gaussian a unit ball; `scale`: standard deviations, world units.
/// Wants double, or float where scales are not much smaller than the distances asked for.
template <class T>
GS_HD Mat3<T> whitening(Vec3<T> scale, Quat<T> quat) {
    const Mat3<T> r = quat_to_rotation(quat);
    const T inverse[3] = {T(1.0f) / scale.x, T(1.0f) / scale.y, T(1.0f) / scale.z};
    Mat3<T> m;
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i) m.m[k][i] = inverse[k] * r.m[i][k];
    return m;
}
/// Gradients with respect to log scales and to the raw quaternion, of `v` with respect to M.
template <class T>
struct WhiteningGradient {
    Vec3<T> log_scale;
    Quat<T> quat;
};
template <class T>
GS_HD WhiteningGradient<T> whitening_vjp(Vec3<T> scale, Quat<T> quat, const Mat3<T>& m,
                                         const Mat3<T>& v) {
    const T inverse[3] = {T(1.0f) / scale.x, T(1.0f) / scale.y, T(1.0f) / scale.z};
    T along[3];
    Mat3<T> v_rotation;
    for (int k = 0; k < 3; ++k) {
        along[k] = v.m[k][0] * m.m[k][0] + v.m[k][1] * m.m[k][1] + v.m[k][2] * m.m[k][2];
        for (int i = 0; i < 3; ++i) v_rotation.m[i][k] = inverse[k] * v.m[k][i];
    }
    return {{-along[0], -along[1], -along[2]}, quat_to_rotation_vjp(quat, v_rotation)};
}

/// Where a ray comes nearest to the mean, in units of the Gaussian's own standard deviations.
template <class T>
struct Nearest {
    T distance2;   ///< squared: the Gaussian's response is exp(-distance2 / 2)
    T hit;         ///< along the ray, world units; negative: behind its origin
    Vec3<T> arm;   ///< M (origin - mean)
    Vec3<T> step;  ///< M direction
    T inverse;     ///< 1 / |step|
};
/// `arm`: origin - mean; `direction` of length 1; both in world axes.
template <class T>
GS_HD Nearest<T> nearest(const Mat3<T>& m, Vec3<T> arm, Vec3<T> direction) {
    Nearest<T> out;
    out.arm = m * arm;
    out.step = m * direction;
    out.inverse = T(1.0f) / sqrt(dot(out.step, out.step));
    const Vec3<T> unit = out.inverse * out.step, across = cross(unit, out.arm);
    out.distance2 = dot(across, across);
    out.hit = -dot(unit, out.arm) * out.inverse;
    return out;
}
template <class T>
struct NearestGradient {
    Mat3<T> whitening;
    Vec3<T> arm;  ///< with respect to the ray's origin, and minus that to the mean
    Vec3<T> direction;
};
/// `v_distance2`, `v_hit`: d loss / d what nearest() gave as `at`.
template <class T>
GS_HD NearestGradient<T> nearest_vjp(const Mat3<T>& m, Vec3<T> arm, Vec3<T> direction,
                                     const Nearest<T>& at, T v_distance2, T v_hit) {
    const Vec3<T> unit = at.inverse * at.step, across = cross(unit, at.arm);
    const Vec3<T> v_across = (T(2.0f) * v_distance2) * across;
    const Vec3<T> v_unit = cross(at.arm, v_across);
    const T per_length2 = v_hit * at.inverse * at.inverse;  // hit = -step . arm / |step|^2
    const Vec3<T> v_arm = cross(v_across, unit) - per_length2 * at.step;
    const Vec3<T> v_step = at.inverse * (v_unit - dot(v_unit, unit) * unit) -
                           per_length2 * (at.arm + (T(2.0f) * at.hit) * at.step);
    const Mat3<T> back = transpose(m);
    NearestGradient<T> out{{}, back * v_arm, back * v_step};
    const T a[3] = {arm.x, arm.y, arm.z}, d[3] = {direction.x, direction.y, direction.z};
    const T va[3] = {v_arm.x, v_arm.y, v_arm.z}, vs[3] = {v_step.x, v_step.y, v_step.z};
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i) out.whitening.m[k][i] = va[k] * a[i] + vs[k] * d[i];
    return out;
}

}  // namespace gs::math
