// A rolling shutter: rows (or columns) are read one after another while the camera moves, so each
// point falls where it is seen from the pose of the very row it falls on. That moment is a fixed
// point. Moments are counted from half the read-out, -1/2 .. 1/2, where the camera's one pose is: a
// shutter over equal poses changes nothing. Sources: gsplat (fixed point, time of a row), SplatAD
// (motion of the picture in the covariance); between poses as Camera::pose_at.
#pragma once

#include "renderer/math/lens.h"

namespace gs::math {

/// Broadcast to the scalar type. Off: everything is seen at moment 0.
template <class T>
struct Rolling {
    bool on = false;
    Vec3<T> axis;   ///< of the turn from the first to the last pose, in camera axes, length 1
    T angle;        ///< of that turn, rad
    Vec3<T> drift;  ///< of the translation from first to last
    T per_u, per_v, at_0;  ///< moment of a place of the picture: per_u u + per_v v + at_0
};
template <class T, class S>
GS_HD Rolling<T> rolling_cast(const Rolling<S>& from) {
    const auto cast = [](S x) { return number<T>(static_cast<double>(x)); };
    return {from.on,          {cast(from.axis.x), cast(from.axis.y), cast(from.axis.z)},
            cast(from.angle), {cast(from.drift.x), cast(from.drift.y), cast(from.drift.z)},
            cast(from.per_u), cast(from.per_v),
            cast(from.at_0)};
}
/// When a place of the picture (px) is read.
template <class T>
GS_HD T moment_of(const Rolling<T>& shutter, Vec2<T> uv) {
    const T moment = shutter.per_u * uv.x + shutter.per_v * uv.y + shutter.at_0;
    return min(max(moment, T(-0.5f)), T(0.5f));
}
/// `v`, which is turned as at moment 0, turned as at `moment` (Rodrigues).
template <class T>
GS_HD Vec3<T> turned(const Rolling<T>& shutter, T moment, Vec3<T> v) {
    const T angle = moment * shutter.angle, h = sin(T(0.5f) * angle);
    const Vec3<T> across = cross(shutter.axis, v);
    return v + sin(angle) * across + (T(2.0f) * h * h) * cross(shutter.axis, across);
}
/// The point that is `c` at moment 0, in camera axes at `moment`.
template <class T>
GS_HD Vec3<T> point_at(const Rolling<T>& shutter, T moment, Vec3<T> c, Vec3<T> translation) {
    return turned(shutter, moment, c - translation) + translation + moment * shutter.drift;
}
/// d point_at / d moment where it is `at`.
template <class T>
GS_HD Vec3<T> velocity_at(const Rolling<T>& shutter, T moment, Vec3<T> at, Vec3<T> translation) {
    const Vec3<T> arm = at - translation - moment * shutter.drift;
    return shutter.angle * cross(shutter.axis, arm) + shutter.drift;
}
/// How fast a point's pixel moves by itself, px per read-out.
template <class T>
GS_HD Vec2<T> pixel_velocity(const Jacobian<T>& j, Vec3<T> velocity) {
    return {j.j[0][0] * velocity.x + j.j[0][1] * velocity.y + j.j[0][2] * velocity.z,
            j.j[1][0] * velocity.x + j.j[1][1] * velocity.y + j.j[1][2] * velocity.z};
}
/// The moment at which the point that is `c` at moment 0 is seen: where the moment of its place is
/// the moment itself, by Newton's steps from 0 or, where the lens does not see it then, from the
/// last or the first. Steps are held back where the picture nearly moves as fast as it is read.
template <class T>
GS_HD T moment_of_point(const Rolling<T>& shutter, const Lens<T>& lens, Vec3<T> c,
                        Vec3<T> translation) {
    const T half(0.5f), zero(0.0f), one(1.0f), farthest(1.0f);
    const auto seen_at = [&](T moment) {
        return lens_project(lens, point_at(shutter, moment, c, translation)).valid;
    };
    T moment = select(seen_at(zero), zero, select(seen_at(half), half, -half));
    for (int i = 0; i < 6; ++i) {
        const Vec3<T> at = point_at(shutter, moment, c, translation);
        const OnPicture<T> on = lens_project(lens, at);
        const Vec2<T> w =
            pixel_velocity(lens_jacobian(lens, at), velocity_at(shutter, moment, at, translation));
        const T det = one - shutter.per_u * w.x - shutter.per_v * w.y;
        const T off = shutter.per_u * on.uv.x + shutter.per_v * on.uv.y + shutter.at_0 - moment;
        const T next = moment + off / max(det, T(0.25f));
        moment = select(on.valid, min(max(next, -farthest), farthest), moment);
    }
    return min(max(moment, T(-0.5f)), T(0.5f));
}
/// How a small move of the point moves its pixel beyond what the lens says, because it is then seen
/// at another moment: d uv / d point = stretch J with stretch = (I - w e^T)^-1, w the pixel's
/// velocity J v and e the moment's slope over the picture. Not finite, or not above `regular`'s
/// bound, where the picture moves as fast as it is read.
template <class T>
struct Stretch {
    T m[2][2];
    MaskOf<T> regular;
    Vec2<T> moment;  ///< d moment / d what the lens says of the pixel: stretch^T e
};
template <class T>
GS_HD Stretch<T> stretch_of(const Rolling<T>& shutter, T moment, Vec2<T> w) {
    const T zero(0.0f), one(1.0f), half(0.5f);
    const auto free = both(moment > -half, moment < half);
    const T e_u = select(free, shutter.per_u, zero), e_v = select(free, shutter.per_v, zero);
    const T det = one - e_u * w.x - e_v * w.y, inverse = one / det;
    return {{{one + w.x * e_u * inverse, w.x * e_v * inverse},
             {w.y * e_u * inverse, one + w.y * e_v * inverse}},
            det > T(0.1f),
            {e_u * inverse, e_v * inverse}};
}

}  // namespace gs::math
