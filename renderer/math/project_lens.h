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
    Stretch<T> stretch;
};
/// `c`: the mean in camera axes at half the read-out.
template <class T>
GS_HD Seen<T> seen_through(const LensCamera<T>& cam, Vec3<T> c) {
    const T zero(0.0f), one(1.0f);
    Seen<T> s{c, cam.rotation, {{{one, zero}, {zero, one}}, zero <= zero}};
    if (!cam.shutter.on) return s;
    const T moment = moment_of_point(cam.shutter, cam.lens, c, cam.translation);
    s.point = point_at(cam.shutter, moment, c, cam.translation);
    for (int k = 0; k < 3; ++k) {
        const auto& m = cam.rotation.m;
        const Vec3<T> column = turned(cam.shutter, moment, Vec3<T>{m[0][k], m[1][k], m[2][k]});
        s.rotation.m[0][k] = column.x;
        s.rotation.m[1][k] = column.y;
        s.rotation.m[2][k] = column.z;
    }
    s.stretch = stretch_of(cam.shutter, moment, lens_jacobian(cam.lens, s.point),
                           velocity_at(cam.shutter, moment, s.point, cam.translation));
    return s;
}
/// `at`: the place that the Jacobian is of (bounded_place).
template <class T>
GS_HD Footprint<T> footprint(const LensCamera<T>& cam, const Seen<T>& seen, Vec2<T> at,
                             Quat<T> quat) {
    Jacobian<T> jacobian = lens_jacobian_at(cam.lens, seen.point, at);
    const auto& m = seen.stretch.m;
    if (cam.shutter.on)
        for (int k = 0; k < 3; ++k) {
            const T u = jacobian.j[0][k], v = jacobian.j[1][k];
            jacobian.j[0][k] = m[0][0] * u + m[0][1] * v;
            jacobian.j[1][k] = m[1][0] * u + m[1][1] * v;
        }
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
    const Vec2<T> at = bounded_place(cam.lens, base_place(cam.lens.base, seen.point));
    set_covariance(out, footprint(cam, seen, at, quat), scale);
    return out;
}

/// To the mean in world axes: `v_uv` through its pixel, `v_a` through Footprint::a, whose place is
/// `at`. Exact but for the extent's change with the moment of a rolling shutter: moment and stretch
/// are held in it (the mean's own path is exact).
template <class T>
GS_HD Vec3<T> place_vjp(const LensCamera<T>& cam, const Seen<T>& seen, Vec2<T> at, Vec2<T> v_uv,
                        const T (&v_a)[2][3]) {
    T v_j[2][3];
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            v_j[i][k] = v_a[i][0] * seen.rotation.m[k][0] + v_a[i][1] * seen.rotation.m[k][1] +
                        v_a[i][2] * seen.rotation.m[k][2];
    if (cam.shutter.on) {
        v_uv = unstretched(seen.stretch, v_uv);
        for (int k = 0; k < 3; ++k) {
            const Vec2<T> v = unstretched(seen.stretch, Vec2<T>{v_j[0][k], v_j[1][k]});
            v_j[0][k] = v.x;
            v_j[1][k] = v.y;
        }
    }
    return transpose(seen.rotation) * lens_vjp_at(cam.lens, seen.point, at, v_uv, v_j);
}
/// To the mean in world axes, through lens_depth(). `c`: the mean in camera axes at half the
/// read-out.
template <class T>
GS_HD Vec3<T> depth_vjp(const LensCamera<T>& cam, Vec3<T> c, T v_depth) {
    Vec3<T> v_c{T(0.0f), T(0.0f), v_depth};
    if (cam.lens.by_distance) v_c = (v_depth / sqrt(dot(c, c))) * c;
    return transpose(cam.rotation) * v_c;
}
/// As project_vjp() of a pinhole; exact as place_vjp() is. `v_depth` is with respect to
/// Projection::depth.
template <class T>
GS_HD ProjectionGradients<T> project_vjp(const LensCamera<T>& cam, Vec3<T> mean, Vec3<T> scale,
                                         Quat<T> quat, Vec2<T> v_mean2d, Sym2<T> v_cov, T v_depth) {
    const Vec3<T> c = cam.rotation * mean + cam.translation;
    const Seen<T> seen = seen_through(cam, c);
    const Vec2<T> at = bounded_place(cam.lens, base_place(cam.lens.base, seen.point));
    const FootprintGradients<T> v = covariance_vjp(footprint(cam, seen, at, quat), scale, v_cov);
    const Vec3<T> v_mean = place_vjp(cam, seen, at, v_mean2d, v.a) + depth_vjp(cam, c, v_depth);
    return {v_mean, {v.scale[0], v.scale[1], v.scale[2]}, quat_to_rotation_vjp(quat, v.r)};
}

/// What a backward that knows its forward goes on from: pinholes and lenses find again whatever
/// they need, the unscented transform (unscented.h) keeps it.
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
