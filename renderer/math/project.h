// A 3D Gaussian through a pinhole: mean, 2D covariance (EWA), conic, opacity compensation. Each f
// with its f_vjp. Forward alone also takes parallel rays: a pinhole whose picture does not shrink
// with depth. Sources: Zwicker et al. 2001 (EWA splatting), Kerbl et al. 2023, Yu et al. 2024
// (Mip-Splatting's compensation as in gsplat).
#pragma once

#include "base/vec.h"
#include "renderer/math/scalar.h"

namespace gs::math {

/// Camera constants, broadcast to the scalar type; fx, fy of `parallel` rays are px per world unit.
/// Limits bound x/z and y/z inside the Jacobian:
/// the picture widened by 0.3 tan(fov / 2) on each side, measured from the principal point.
template <class T>
struct Pinhole {
    Mat3<T> rotation;  ///< camera_from_world
    Vec3<T> translation;
    T fx, fy, cx, cy;  ///< px
    T x_lo, x_hi, y_lo, y_hi;
    /// What a point is divided by, w_from_z * z + w_constant: its depth, or 1 for parallel rays.
    T w_from_z, w_constant;
};
template <class T>
GS_HD Pinhole<T> make_pinhole(const Mat3<double>& rotation, Vec3<double> translation, double fx,
                              double fy, double cx, double cy, int width, int height,
                              bool parallel = false) {
    Pinhole<T> p;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) p.rotation.m[i][j] = T(static_cast<float>(rotation.m[i][j]));
    p.translation = {T(static_cast<float>(translation.x)), T(static_cast<float>(translation.y)),
                     T(static_cast<float>(translation.z))};
    p.fx = T(static_cast<float>(fx));
    p.fy = T(static_cast<float>(fy));
    p.cx = T(static_cast<float>(cx));
    p.cy = T(static_cast<float>(cy));
    const double margin_x = 0.3 * 0.5 * width / fx, margin_y = 0.3 * 0.5 * height / fy;
    p.x_lo = T(static_cast<float>(-cx / fx - margin_x));
    p.x_hi = T(static_cast<float>((width - cx) / fx + margin_x));
    p.y_lo = T(static_cast<float>(-cy / fy - margin_y));
    p.y_hi = T(static_cast<float>((height - cy) / fy + margin_y));
    p.w_from_z = T(parallel ? 0.0f : 1.0f);
    p.w_constant = T(parallel ? 1.0f : 0.0f);
    // The Jacobian has no part along z then.
    if (parallel) p.x_lo = p.x_hi = p.y_lo = p.y_hi = T(0.0f);
    return p;
}

/// Rotation matrix of a quaternion of length 1. Source: standard, e.g. Shoemake 1985.
template <class T>
GS_HD Mat3<T> unit_quat_to_rotation(Quat<T> q) {
    const T w = q.w, x = q.x, y = q.y, z = q.z;
    const T one = T(1.0f), two = T(2.0f);
    Mat3<T> r;
    r.m[0][0] = one - two * (y * y + z * z);
    r.m[0][1] = two * (x * y - w * z);
    r.m[0][2] = two * (x * z + w * y);
    r.m[1][0] = two * (x * y + w * z);
    r.m[1][1] = one - two * (x * x + z * z);
    r.m[1][2] = two * (y * z - w * x);
    r.m[2][0] = two * (x * z - w * y);
    r.m[2][1] = two * (y * z + w * x);
    r.m[2][2] = one - two * (x * x + y * y);
    return r;
}
/// Of any length but zero.
template <class T>
GS_HD Mat3<T> quat_to_rotation(Quat<T> q) {
    const T inverse = T(1.0f) / sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return unit_quat_to_rotation(
        Quat<T>{q.w * inverse, q.x * inverse, q.y * inverse, q.z * inverse});
}
/// The gradient with respect to a small turn (radians) that a rotation of this quaternion, of any
/// length, is followed by; `v`: with respect to the raw quaternion. From dq = (0, turn / 2) q.
template <class T>
GS_HD Vec3<T> quat_turn_vjp(Quat<T> q, Quat<T> v) {
    const T half = T(0.5f);
    return {half * (q.w * v.x - q.x * v.w + q.y * v.z - q.z * v.y),
            half * (q.w * v.y - q.y * v.w + q.z * v.x - q.x * v.z),
            half * (q.w * v.z - q.z * v.w + q.x * v.y - q.y * v.x)};
}
/// Gradient with respect to the raw quaternion.
template <class T>
GS_HD Quat<T> quat_to_rotation_vjp(Quat<T> q, const Mat3<T>& v) {
    const T inverse = T(1.0f) / sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    const T w = q.w * inverse, x = q.x * inverse, y = q.y * inverse, z = q.z * inverse,
            two = T(2.0f);
    const auto& m = v.m;
    const T vw =
        two * (x * (m[2][1] - m[1][2]) + y * (m[0][2] - m[2][0]) + z * (m[1][0] - m[0][1]));
    const T vx = two * (y * (m[0][1] + m[1][0]) + z * (m[0][2] + m[2][0]) +
                        w * (m[2][1] - m[1][2]) - two * x * (m[1][1] + m[2][2]));
    const T vy = two * (x * (m[0][1] + m[1][0]) + z * (m[1][2] + m[2][1]) +
                        w * (m[0][2] - m[2][0]) - two * y * (m[0][0] + m[2][2]));
    const T vz = two * (x * (m[0][2] + m[2][0]) + y * (m[1][2] + m[2][1]) +
                        w * (m[1][0] - m[0][1]) - two * z * (m[0][0] + m[1][1]));
    const T along = vw * w + vx * x + vy * y + vz * z;  // the normalisation removes this part
    return {inverse * (vw - along * w), inverse * (vx - along * x), inverse * (vy - along * y),
            inverse * (vz - along * z)};
}

/// What projecting a mean and covariance gives, before blur.
template <class T>
struct Projection {
    Vec3<T> camera;  ///< mean in camera axes
    T depth;         ///< camera.z; what a lens has instead: project_lens.h
    Vec2<T> mean;    ///< px
    Sym2<T> cov;     ///< px^2
    T det;  ///< of cov, px^4, free of the cancellation that xx yy - xy^2 suffers for needles
};
/// The factor U (2x3) with cov = U U^T is b diag(scale); shared by f and f_vjp of every camera.
template <class T>
struct Footprint {
    T a[2][3];  ///< J * camera_from_world
    Mat3<T> r;  ///< world_from_gaussian
    T b[2][3];  ///< a * r
};
/// r and b of a.
template <class T>
GS_HD void set_factors(Footprint<T>& f, Quat<T> quat) {
    f.r = quat_to_rotation(quat);
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            f.b[i][k] = f.a[i][0] * f.r.m[0][k] + f.a[i][1] * f.r.m[1][k] + f.a[i][2] * f.r.m[2][k];
}
template <class T>
GS_HD void set_covariance(Projection<T>& out, const Footprint<T>& f, Vec3<T> scale) {
    const T s[3] = {scale.x, scale.y, scale.z};
    const Vec3<T> u0{f.b[0][0] * s[0], f.b[0][1] * s[1], f.b[0][2] * s[2]};
    const Vec3<T> u1{f.b[1][0] * s[0], f.b[1][1] * s[1], f.b[1][2] * s[2]};
    out.cov = {dot(u0, u0), dot(u0, u1), dot(u1, u1)};
    const Vec3<T> minors =
        cross(u0, u1);  // Cauchy-Binet: det(U U^T) is the sum of the squared 2x2 minors of U
    out.det = dot(minors, minors);
}
/// d loss / d what a footprint is made of, of d loss / d cov.
template <class T>
struct FootprintGradients {
    T a[2][3];
    Mat3<T> r;
    T scale[3];
};
/// Of d loss / d column k of U = b diag(scale).
template <class T>
GS_HD FootprintGradients<T> columns_vjp(const Footprint<T>& f, Vec3<T> scale,
                                        const Vec2<T> (&v_u)[3]) {
    const T s[3] = {scale.x, scale.y, scale.z};
    FootprintGradients<T> out;
    T v_b[2][3];
    for (int k = 0; k < 3; ++k) {
        out.scale[k] = v_u[k].x * f.b[0][k] + v_u[k].y * f.b[1][k];
        v_b[0][k] = v_u[k].x * s[k];
        v_b[1][k] = v_u[k].y * s[k];
    }
    // b = a r: back to a and the rotation.
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 2; ++i)
            out.a[i][k] =
                v_b[i][0] * f.r.m[k][0] + v_b[i][1] * f.r.m[k][1] + v_b[i][2] * f.r.m[k][2];
        for (int j = 0; j < 3; ++j) out.r.m[k][j] = f.a[0][k] * v_b[0][j] + f.a[1][k] * v_b[1][j];
    }
    return out;
}
/// Of d loss / d u u^T, to u.
template <class T>
GS_HD Vec2<T> square_vjp(Sym2<T> v, Vec2<T> u) {
    const T two = T(2.0f);
    return {two * v.xx * u.x + v.xy * u.y, v.xy * u.x + two * v.yy * u.y};
}
template <class T>
GS_HD FootprintGradients<T> covariance_vjp(const Footprint<T>& f, Vec3<T> scale, Sym2<T> v_cov) {
    const T s[3] = {scale.x, scale.y, scale.z};
    Vec2<T> v_u[3];
    for (int k = 0; k < 3; ++k)
        v_u[k] = square_vjp(v_cov, Vec2<T>{f.b[0][k] * s[k], f.b[1][k] * s[k]});
    return columns_vjp(f, scale, v_u);
}
template <class T>
struct ProjectionFactors : Footprint<T> {
    T u, v;       ///< clamped x/z, y/z
    T inverse_z;  ///< 1 for parallel rays
};
template <class T>
GS_HD ProjectionFactors<T> projection_factors(const Pinhole<T>& cam, Vec3<T> c, Quat<T> quat) {
    ProjectionFactors<T> f;
    f.inverse_z = T(1.0f) / (cam.w_from_z * c.z + cam.w_constant);
    f.u = min(max(c.x * f.inverse_z, cam.x_lo), cam.x_hi);
    f.v = min(max(c.y * f.inverse_z, cam.y_lo), cam.y_hi);
    const T jx = cam.fx * f.inverse_z, jy = cam.fy * f.inverse_z;  // J = [jx 0 -jx u; 0 jy -jy v]
    for (int k = 0; k < 3; ++k) {
        f.a[0][k] = jx * (cam.rotation.m[0][k] - f.u * cam.rotation.m[2][k]);
        f.a[1][k] = jy * (cam.rotation.m[1][k] - f.v * cam.rotation.m[2][k]);
    }
    set_factors(f, quat);
    return f;
}

/// Mean and 2D covariance. `scale`: standard deviations (world units), `quat`: any length.
template <class T>
GS_HD Projection<T> project(const Pinhole<T>& cam, Vec3<T> mean, Vec3<T> scale, Quat<T> quat) {
    Projection<T> out;
    out.camera = cam.rotation * mean + cam.translation;
    out.depth = out.camera.z;
    const ProjectionFactors<T> f = projection_factors(cam, out.camera, quat);
    out.mean = {cam.fx * out.camera.x * f.inverse_z + cam.cx,
                cam.fy * out.camera.y * f.inverse_z + cam.cy};
    set_covariance(out, f, scale);
    return out;
}

template <class T>
struct ProjectionGradients {
    Vec3<T> mean;
    Vec3<T> scale;  ///< with respect to the standard deviations
    Quat<T> quat;
};
/// v_cov.xy is the derivative with respect to the one number cov.xy (it stands twice in the
/// matrix). Of a pinhole: nothing is trained through parallel rays.
template <class T>
GS_HD ProjectionGradients<T> project_vjp(const Pinhole<T>& cam, Vec3<T> mean, Vec3<T> scale,
                                         Quat<T> quat, Vec2<T> v_mean2d, Sym2<T> v_cov, T v_depth) {
    const Vec3<T> c = cam.rotation * mean + cam.translation;
    const ProjectionFactors<T> f = projection_factors(cam, c, quat);
    const FootprintGradients<T> v = covariance_vjp(f, scale, v_cov);
    const auto& v_a = v.a;
    // a = J camera_from_world: back to the Jacobian's entries, then to the mean in camera axes.
    const auto& w = cam.rotation.m;
    const T j00 = v_a[0][0] * w[0][0] + v_a[0][1] * w[0][1] + v_a[0][2] * w[0][2];
    const T j02 = v_a[0][0] * w[2][0] + v_a[0][1] * w[2][1] + v_a[0][2] * w[2][2];
    const T j11 = v_a[1][0] * w[1][0] + v_a[1][1] * w[1][1] + v_a[1][2] * w[1][2];
    const T j12 = v_a[1][0] * w[2][0] + v_a[1][1] * w[2][1] + v_a[1][2] * w[2][2];
    const T jx = cam.fx * f.inverse_z, jy = cam.fy * f.inverse_z;
    const T x_over_z = c.x * f.inverse_z, y_over_z = c.y * f.inverse_z, zero = T(0.0f);
    const T v_u = select(both(x_over_z >= cam.x_lo, x_over_z <= cam.x_hi), -jx * j02, zero);
    const T v_v = select(both(y_over_z >= cam.y_lo, y_over_z <= cam.y_hi), -jy * j12, zero);
    const T v_xz = v_u + cam.fx * v_mean2d.x,
            v_yz = v_v + cam.fy * v_mean2d.y;  // with respect to x/z and y/z
    Vec3<T> v_c;
    v_c.x = v_xz * f.inverse_z;
    v_c.y = v_yz * f.inverse_z;
    v_c.z = v_depth + f.inverse_z * (jx * (f.u * j02 - j00) + jy * (f.v * j12 - j11) -
                                     v_xz * x_over_z - v_yz * y_over_z);
    return {transpose(cam.rotation) * v_c,
            {v.scale[0], v.scale[1], v.scale[2]},
            quat_to_rotation_vjp(quat, v.r)};
}

/// Inverse of cov + blur I, and the opacity factor that keeps the blurred Gaussian's energy.
template <class T>
struct Conic {
    Sym2<T> inverse;  ///< sigma = 0.5 (xx dx^2 + yy dy^2) + xy dx dy
    T det;            ///< of the blurred covariance; not positive: degenerate
    T compensation;   ///< sqrt(max(det(cov) / det(cov + blur I), 0.005^2))
};
/// `det`: determinant of cov (Projection::det).
template <class T>
GS_HD Conic<T> conic_of(Sym2<T> cov, T det, T blur) {
    Conic<T> out;
    out.det = det + blur * (cov.xx + cov.yy + blur);
    const T inverse = T(1.0f) / out.det;
    out.inverse = {(cov.yy + blur) * inverse, -cov.xy * inverse, (cov.xx + blur) * inverse};
    out.compensation = sqrt(max(det * inverse, T(0.000025f)));
    return out;
}
/// Whether a point is in a box, its faces included. False for NaN.
template <class T>
GS_HD auto inside(Vec3<T> lo, Vec3<T> hi, Vec3<T> p) {
    return both(both(both(p.x >= lo.x, p.x <= hi.x), both(p.y >= lo.y, p.y <= hi.y)),
                both(p.z >= lo.z, p.z <= hi.z));
}
/// What a frame bounds Gaussians by: nothing nearer, and nothing beside the picture.
template <class T>
struct FrameBounds {
    T near_plane, width, height;  ///< px but the first
};
/// Whether a projected Gaussian can draw. `limit`: 2 ln(opacity / least alpha); `box`: half sizes
/// of its footprint, px. Every condition is false for NaN, so poison parameters fall out here. The
/// limits of size are those of single precision: 2.6e9 px are a deviation of a million times the
/// distance, and more; a determinant beyond has no inverse.
template <class T>
GS_HD auto visible(const FrameBounds<T>& frame, const Projection<T>& p, const Conic<T>& conic,
                   T blur, T limit, Vec2<T> box) {
    const T zero(0.0f);
    const auto in_depth = both(p.depth > frame.near_plane, p.depth < T(1e10f));
    const auto of_size = both(limit > zero, both(p.cov.xx + blur < T(7e18f),  //
                                                 p.cov.yy + blur < T(7e18f)));
    const auto regular = both(both(conic.det > zero, conic.det < T(5e37f)),
                              both(conic.inverse.xx > zero, conic.inverse.yy > zero));
    const auto beside_x = both(p.mean.x + box.x > zero, p.mean.x - box.x < frame.width);
    const auto beside_y = both(p.mean.y + box.y > zero, p.mean.y - box.y < frame.height);
    return both(both(both(in_depth, of_size), regular), both(beside_x, beside_y));
}
/// Where only the covariance is known.
template <class T>
GS_HD Conic<T> conic_of(Sym2<T> cov, T blur) {
    return conic_of(cov, cov.xx * cov.yy - cov.xy * cov.xy, blur);
}
/// Gradient with respect to cov, whose determinant `det` is. v_inverse.xy is with respect to the
/// one number inverse.xy.
template <class T>
GS_HD Sym2<T> conic_of_vjp(Sym2<T> cov, T det, T blur, Sym2<T> v_inverse, T v_compensation) {
    const Conic<T> k = conic_of(cov, det, blur);
    const Sym2<T> c = k.inverse;
    const T half = T(0.5f), two = T(2.0f), zero = T(0.0f);
    // d inverse = -inverse d cov inverse, both symmetric.
    const T h = half * v_inverse.xy;
    const T m00 = c.xx * v_inverse.xx + c.xy * h, m01 = c.xx * h + c.xy * v_inverse.yy;
    const T m10 = c.xy * v_inverse.xx + c.yy * h, m11 = c.xy * h + c.yy * v_inverse.yy;
    Sym2<T> v{-(m00 * c.xx + m01 * c.xy), -(two * (m00 * c.xy + m01 * c.yy)),
              -(m10 * c.xy + m11 * c.yy)};
    const T inverse_det = T(1.0f) / k.det, ratio = det * inverse_det;
    const T v_ratio = select(ratio > T(0.000025f), half * v_compensation / k.compensation, zero);
    const T v_det0 = v_ratio * inverse_det, v_det1 = -v_ratio * ratio * inverse_det;
    v.xx = v.xx + v_det0 * cov.yy + v_det1 * (cov.yy + blur);
    v.yy = v.yy + v_det0 * cov.xx + v_det1 * (cov.xx + blur);
    v.xy = v.xy - two * cov.xy * (v_det0 + v_det1);
    return v;
}

}  // namespace gs::math
