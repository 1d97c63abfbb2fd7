// A 3D Gaussian through any lens and shutter: what project.h does for pinholes, with the lens's own
// Jacobian (Zwicker et al. 2001 for any camera). Renderers take Pinhole or LensCamera as a template
// argument.
#pragma once

#include "renderer/math/project.h"
#include "renderer/math/shutter.h"

namespace gs::math {

/// Camera constants, broadcast to the scalar type.
template <class T>
struct LensCamera {
    Mat3<T> rotation;  ///< camera_from_world; of a rolling shutter at half the read-out
    Vec3<T> translation;
    Lens<T> lens;
    Rolling<T> shutter;
};
template <class T, class S>
GS_HD LensCamera<T> lens_camera_cast(const LensCamera<S>& from) {
    const auto cast = [](S x) { return number<T>(static_cast<double>(x)); };
    LensCamera<T> to;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) to.rotation.m[i][j] = cast(from.rotation.m[i][j]);
    to.translation = {cast(from.translation.x), cast(from.translation.y), cast(from.translation.z)};
    to.lens = lens_cast<T>(from.lens);
    to.shutter = rolling_cast<T>(from.shutter);
    return to;
}

/// A mean as the lens sees it, at the moment its place of the picture is read.
template <class T>
struct Seen {
    Vec3<T> point;     ///< camera axes at that moment
    Mat3<T> rotation;  ///< camera_from_world then
    Vec2<T> at;        ///< the place that its extent's Jacobian is of (bounded_place)
    // Of a rolling shutter alone.
    T moment;
    Vec3<T> velocity;    ///< d point / d moment
    Vec3<T> slope;       ///< d moment / d the point that the moment is of, both at that moment
    Stretch<T> stretch;  ///< of the extent, as its places are read at other moments
    MaskOf<T> inside;    ///< the bounds; else there is no stretch
};
/// The point at its depth where bounded_place() has it, and whether it was there.
template <class T>
struct BoundedPoint {
    Vec3<T> at;
    MaskOf<T> own_x, own_y;
};
template <class T>
GS_HD BoundedPoint<T> bounded_point(const Lens<T>& lens, Vec3<T> c) {
    const T zero(0.0f);
    if (lens.base != LensBase::perspective) return {c, zero <= zero, zero <= zero};
    const Vec2<T> own = base_place(lens.base, c), at = bounded_place(lens, own);
    const auto own_x = both(at.x <= own.x, at.x >= own.x),
               own_y = both(at.y <= own.y, at.y >= own.y);
    return {{select(own_x, c.x, at.x * c.z), select(own_y, c.y, at.y * c.z), c.z}, own_x, own_y};
}
template <class T>
GS_HD Vec3<T> bounded_point_vjp(const Lens<T>& lens, Vec3<T> c, Vec3<T> v) {
    if (lens.base != LensBase::perspective) return v;
    const BoundedPoint<T> bounded = bounded_point(lens, c);
    const T zero(0.0f), w = T(1.0f) / c.z;
    return {select(bounded.own_x, v.x, zero), select(bounded.own_y, v.y, zero),
            v.z + select(bounded.own_x, zero, bounded.at.x * w * v.x) +
                select(bounded.own_y, zero, bounded.at.y * w * v.y)};
}
/// `c`: the mean in camera axes at half the read-out. A mean beyond the bounds is read when the
/// place at the bounds is, as its own is rows away from any that may show it, and has no stretch:
/// how it moves there says nothing about how it would move in the picture.
template <class T>
GS_HD void roll(const LensCamera<T>& cam, Vec3<T> c, Seen<T>& s) {
    const Lens<T>& lens = cam.lens;
    const Rolling<T>& shutter = cam.shutter;
    const Vec3<T> t = cam.translation;
    const BoundedPoint<T> bounded = bounded_point(lens, c);
    s.moment = moment_of_point(shutter, lens, bounded.at, t);
    s.point = point_at(shutter, s.moment, c, t);
    s.velocity = velocity_at(shutter, s.moment, s.point, t);
    const auto& m = cam.rotation.m;
    for (int k = 0; k < 3; ++k) {
        const Vec3<T> column = turned(shutter, s.moment, Vec3<T>{m[0][k], m[1][k], m[2][k]});
        s.rotation.m[0][k] = column.x;
        s.rotation.m[1][k] = column.y;
        s.rotation.m[2][k] = column.z;
    }
    // Of the point that the moment is of: within the bounds that of the mean.
    const Vec3<T> of = point_at(shutter, s.moment, bounded.at, t);
    const Jacobian<T> j = lens_jacobian(lens, of);
    s.stretch =
        stretch_of(shutter, s.moment, pixel_velocity(j, velocity_at(shutter, s.moment, of, t)));
    const Vec2<T> q = s.stretch.moment;
    s.slope = {q.x * j.j[0][0] + q.y * j.j[1][0], q.x * j.j[0][1] + q.y * j.j[1][1],
               q.x * j.j[0][2] + q.y * j.j[1][2]};
    const BoundedPoint<T> then = bounded_point(lens, s.point);
    s.inside = both(both(bounded.own_x, bounded.own_y), both(then.own_x, then.own_y));
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 2; ++k)
            s.stretch.m[i][k] = select(s.inside, s.stretch.m[i][k], T(i == k ? 1.0f : 0.0f));
}
template <class T>
GS_HD Seen<T> seen_through(const LensCamera<T>& cam, Vec3<T> c) {
    const T zero(0.0f), one(1.0f);
    const Lens<T>& lens = cam.lens;
    Seen<T> s;
    s.point = c;
    s.rotation = cam.rotation;
    s.moment = zero;
    s.velocity = s.slope = {zero, zero, zero};
    s.inside = zero <= zero;
    s.stretch = {{{one, zero}, {zero, one}}, s.inside, {zero, zero}};
    if (cam.shutter.on) roll(cam, c, s);
    s.at = bounded_place(lens, base_place(lens.base, s.point));
    return s;
}
template <class T>
GS_HD Jacobian<T> stretched(const Stretch<T>& stretch, const Jacobian<T>& jacobian) {
    const auto& m = stretch.m;
    Jacobian<T> out;
    for (int k = 0; k < 3; ++k) {
        const T u = jacobian.j[0][k], v = jacobian.j[1][k];
        out.j[0][k] = m[0][0] * u + m[0][1] * v;
        out.j[1][k] = m[1][0] * u + m[1][1] * v;
    }
    return out;
}
template <class T>
GS_HD Footprint<T> footprint(const LensCamera<T>& cam, const Seen<T>& seen, Quat<T> quat) {
    Jacobian<T> jacobian = lens_jacobian_at(cam.lens, seen.point, seen.at);
    if (cam.shutter.on) jacobian = stretched(seen.stretch, jacobian);
    Footprint<T> f;
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            f.a[i][k] = jacobian.j[i][0] * seen.rotation.m[0][k] +
                        jacobian.j[i][1] * seen.rotation.m[1][k] +
                        jacobian.j[i][2] * seen.rotation.m[2][k];
    set_factors(f, quat);
    return f;
}

/// Mean and 2D covariance, as project() of a pinhole. `depth` is what the lens has for it
/// (lens_depth) at half the read-out, and -1 where the lens does not see the mean: behind any near
/// plane.
template <class T>
GS_HD Projection<T> project(const LensCamera<T>& cam, Vec3<T> mean, Vec3<T> scale, Quat<T> quat) {
    Projection<T> out;
    out.camera = cam.rotation * mean + cam.translation;
    const Seen<T> seen = seen_through(cam, out.camera);
    const OnPicture<T> on = lens_project(cam.lens, seen.point);
    out.mean = on.uv;
    out.depth =
        select(both(on.valid, seen.stretch.regular), lens_depth(cam.lens, out.camera), T(-1.0f));
    set_covariance(out, footprint(cam, seen, quat), scale);
    return out;
}

/// d moment / d the mean in camera axes at half the read-out, which is `c`.
template <class T>
GS_HD Vec3<T> moment_slope(const LensCamera<T>& cam, Vec3<T> c, const Seen<T>& seen) {
    return bounded_point_vjp(cam.lens, c, turned(cam.shutter, -seen.moment, seen.slope));
}
/// To the mean in camera axes at half the read-out, of gradients `v_uv` with respect to its pixel
/// and `v_j` to stretch J of its extent: through point, turn and stretch at their moment, and
/// through the moment, which moves all of them.
template <class T>
GS_HD Vec3<T> rolling_vjp(const LensCamera<T>& cam, Vec3<T> c, const Seen<T>& seen, Vec2<T> v_uv,
                          const T v_j[2][3]) {
    const Rolling<T>& shutter = cam.shutter;
    const Jacobian<T> held = lens_jacobian_at(cam.lens, seen.point, seen.at),
                      whole = stretched(seen.stretch, held);
    const auto& m = seen.stretch.m;
    const auto& j = held.j;
    const Vec2<T> q = seen.stretch.moment;
    // Of (I - w e^T)^-1 the differential is stretch dw (stretch^T e)^T.
    T v_s[2];  // along q
    for (int i = 0; i < 2; ++i)
        v_s[i] = v_j[i][0] * (j[0][0] * q.x + j[1][0] * q.y) +
                 v_j[i][1] * (j[0][1] * q.x + j[1][1] * q.y) +
                 v_j[i][2] * (j[0][2] * q.x + j[1][2] * q.y);
    const T zero(0.0f);
    const T v_w[2] = {select(seen.inside, m[0][0] * v_s[0] + m[1][0] * v_s[1], zero),
                      select(seen.inside, m[0][1] * v_s[0] + m[1][1] * v_s[1], zero)};
    const T velocity[3] = {seen.velocity.x, seen.velocity.y, seen.velocity.z};
    T v_jacobian[2][3];
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            v_jacobian[i][k] = m[0][i] * v_j[0][k] + m[1][i] * v_j[1][k] + v_w[i] * velocity[k];
    const Vec3<T> v_velocity{v_w[0] * j[0][0] + v_w[1] * j[1][0],
                             v_w[0] * j[0][1] + v_w[1] * j[1][1],
                             v_w[0] * j[0][2] + v_w[1] * j[1][2]};
    const Vec3<T> v_arm = shutter.angle * cross(v_velocity, shutter.axis);
    const Vec3<T> v_point = lens_vjp_at(cam.lens, seen.point, seen.at, v_uv, v_jacobian) + v_arm;
    // How the turn at the moment changes: along the axis.
    Vec3<T> v_turn{zero, zero, zero};
    for (int i = 0; i < 2; ++i)
        v_turn = v_turn + cross(Vec3<T>{v_j[i][0], v_j[i][1], v_j[i][2]},
                                Vec3<T>{whole.j[i][0], whole.j[i][1], whole.j[i][2]});
    const T v_moment = dot(v_point, seen.velocity) - dot(v_arm, shutter.drift) +
                       shutter.angle * dot(shutter.axis, v_turn);
    return turned(shutter, -seen.moment, v_point) + v_moment * moment_slope(cam, c, seen);
}
/// To the Jacobian that a Footprint's `a` was made with.
template <class T>
GS_HD void jacobian_gradient(const Seen<T>& seen, const T (&v_a)[2][3], T (&v_j)[2][3]) {
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            v_j[i][k] = v_a[i][0] * seen.rotation.m[k][0] + v_a[i][1] * seen.rotation.m[k][1] +
                        v_a[i][2] * seen.rotation.m[k][2];
}
/// To the mean in world axes: `v_uv` through its pixel, `v_a` through Footprint::a. `c`: the
/// mean in camera axes at half the read-out.
template <class T>
GS_HD Vec3<T> place_vjp(const LensCamera<T>& cam, Vec3<T> c, const Seen<T>& seen, Vec2<T> v_uv,
                        const T (&v_a)[2][3]) {
    T v_j[2][3];
    jacobian_gradient(seen, v_a, v_j);
    return transpose(cam.rotation) * (cam.shutter.on
                                          ? rolling_vjp(cam, c, seen, v_uv, v_j)
                                          : lens_vjp_at(cam.lens, c, seen.at, v_uv, v_j));
}
/// To the mean in world axes, through lens_depth(). `c`: the mean in camera axes at half the
/// read-out.
template <class T>
GS_HD Vec3<T> depth_vjp(const LensCamera<T>& cam, Vec3<T> c, T v_depth) {
    Vec3<T> v_c{T(0.0f), T(0.0f), v_depth};
    if (cam.lens.by_distance) v_c = (v_depth / sqrt(dot(c, c))) * c;
    return transpose(cam.rotation) * v_c;
}
/// As project_vjp() of a pinhole. `v_depth` is with respect to Projection::depth.
template <class T>
GS_HD ProjectionGradients<T> project_vjp(const LensCamera<T>& cam, Vec3<T> mean, Vec3<T> scale,
                                         Quat<T> quat, Vec2<T> v_mean2d, Sym2<T> v_cov, T v_depth) {
    const Vec3<T> c = cam.rotation * mean + cam.translation;
    const Seen<T> seen = seen_through(cam, c);
    const FootprintGradients<T> v = covariance_vjp(footprint(cam, seen, quat), scale, v_cov);
    const Vec3<T> v_mean = place_vjp(cam, c, seen, v_mean2d, v.a) + depth_vjp(cam, c, v_depth);
    return {v_mean, {v.scale[0], v.scale[1], v.scale[2]}, quat_to_rotation_vjp(quat, v.r)};
}

/// The input of a backward pass that has its forward pass's results: pinholes and lenses compute
/// again what they need, the unscented transform (unscented.h) keeps it.
template <class T>
struct Trace {
    Projection<T> projection;
};
template <class Camera, class T>
GS_HD Trace<T> trace(const Camera& cam, Vec3<T> mean, Vec3<T> scale, Quat<T> quat) {
    return {project(cam, mean, scale, quat)};
}
template <class Camera, class T>
GS_HD ProjectionGradients<T> trace_vjp(const Camera& cam, const Trace<T>&, Vec3<T> mean,
                                       Vec3<T> scale, Quat<T> quat, Vec2<T> v_mean2d, Sym2<T> v_cov,
                                       T v_depth) {
    return project_vjp(cam, mean, scale, quat, v_mean2d, v_cov, v_depth);
}

}  // namespace gs::math
