// What a gradient of pixels and Jacobians is to the lens's own numbers: for refining intrinsics of
// a camera by its photos. The mirror of lens.h's projection, with the point held.
#pragma once

#include "renderer/math/lens_numbers.h"
#include "renderer/math/project_lens.h"

namespace gs::math {

/// d loss / d each of them. What the lens does not use gets a number, too: the slope at 0.
template <class T>
struct LensGradient {
    T v[kLensNumbers];
};
/// Of a perspective or equidistant lens with rational distortion (or none): `v_uv` through the
/// pixel of `c`, `v_j` through the Jacobian with the slopes of `at` (bounded_place of it, held).
template <class T>
GS_HD LensGradient<T> lens_intrinsics_vjp(const Lens<T>& lens, Vec3<T> c, Vec2<T> at, Vec2<T> v_uv,
                                          const T v_j[2][3]) {
    const T two(2.0f), six(6.0f), four(4.0f);
    const Vec2<T> own = base_place(lens.base, c);
    const BaseJacobian<T> base = base_jacobian(lens.base, c, at);
    const Distorted<T> pixel = distort(lens, own);
    // u = fx (x of mix moved) + cx, and its Jacobian's row likewise.
    const Jacobian<T> j = lens_jacobian_at(lens, c, at);
    const Vec2<T> on = from_middle(lens, pixel.at);
    LensGradient<T> out;
    T* const g = out.v;
    g[kFocal] = v_uv.x * on.x + v_uv.y * on.y;
    T v_slopes[2][2] = {{T(0.0f), T(0.0f)}, {T(0.0f), T(0.0f)}};
    for (int k = 0; k < 3; ++k) {
        g[kFocal] = g[kFocal] + v_j[0][k] * j.j[0][k] + v_j[1][k] * j.j[1][k];
        const Vec2<T> w = from_pixels_vjp(lens, v_j[0][k], v_j[1][k]);
        v_slopes[0][0] = v_slopes[0][0] + w.x * base.j[0][k];
        v_slopes[0][1] = v_slopes[0][1] + w.x * base.j[1][k];
        v_slopes[1][0] = v_slopes[1][0] + w.y * base.j[0][k];
        v_slopes[1][1] = v_slopes[1][1] + w.y * base.j[1][k];
    }
    // Radial: of a change e(q) of the factor, at the pixel and in the slopes.
    const Vec2<T> w = from_pixels_vjp(lens, v_uv.x, v_uv.y);
    const T v_d = w.x * own.x + w.y * own.y, q = own.x * own.x + own.y * own.y;
    const T a = at.x, b = at.y, r = a * a + b * b;
    const T v_e = v_slopes[0][0] + v_slopes[1][1];
    const T v_e1 = two * (v_slopes[0][0] * a * a + (v_slopes[0][1] + v_slopes[1][0]) * a * b +
                          v_slopes[1][1] * b * b);
    const T* m = lens.m;
    const auto below = [&](T s) { return T(1.0f) + s * (m[0] + s * (m[1] + s * m[2])); };
    const T inverse_q = T(1.0f) / below(q), inverse_r = T(1.0f) / below(r);
    const T below1 = m[0] + r * (two * m[1] + T(3.0f) * r * m[2]);
    const RadialFactor<T> f = radial_factor(lens, r);
    T power_q(1.0f), power_r(1.0f);  // q^i, r^i
    for (int i = 0; i < 4; ++i) {
        // e = s^(i + 1) / M for a numerator's coefficient, -D times that for a denominator's.
        const T e1 = (number<T>(i + 1) * power_r - power_r * r * inverse_r * below1) * inverse_r;
        power_q = power_q * q;
        power_r = power_r * r;
        const T e_q = power_q * inverse_q, e_r = power_r * inverse_r;
        g[kN1 + i] = v_d * e_q + v_e * e_r + v_e1 * e1;
        if (i < 3)
            g[kM1 + i] =
                -(v_d * pixel.scale * e_q + v_e * f.d * e_r + v_e1 * (f.d1 * e_r + f.d * e1));
    }
    const T x = own.x, y = own.y, xy = two * x * y;
    const T across = v_slopes[0][1] + v_slopes[1][0];
    g[kP1] = w.x * xy + w.y * (q + two * y * y) + two * (v_slopes[0][0] * b + across * a) +
             six * v_slopes[1][1] * b;
    g[kP2] = w.x * (q + two * x * x) + w.y * xy + six * v_slopes[0][0] * a +
             two * (across * b + v_slopes[1][1] * a);
    const T along_x = v_slopes[0][0] * a + v_slopes[0][1] * b,
            along_y = v_slopes[1][0] * a + v_slopes[1][1] * b;
    g[kS1] = w.x * q + two * along_x;
    g[kS2] = w.x * q * q + four * r * along_x;
    g[kS3] = w.y * q + two * along_y;
    g[kS4] = w.y * q * q + four * r * along_y;
    return out;
}

/// Of a Gaussian, whose projection is `seen`, through its camera; the rest as project_vjp() has it.
template <class T>
GS_HD LensGradient<T> intrinsics_vjp(const Pinhole<T>& cam, const Projection<T>& seen, Vec3<T>,
                                     Quat<T>, Vec2<T> v_mean2d, Sym2<T> v_cov) {
    LensGradient<T> out;
    for (T& x : out.v) x = T(0.0f);
    out.v[kFocal] =
        v_mean2d.x * (seen.mean.x - cam.cx) + v_mean2d.y * (seen.mean.y - cam.cy) +
        T(2.0f) * (v_cov.xx * seen.cov.xx + v_cov.xy * seen.cov.xy + v_cov.yy * seen.cov.yy);
    return out;
}
/// Of a lens that lens_intrinsics_vjp() takes, and a global shutter.
template <class T>
GS_HD LensGradient<T> intrinsics_vjp(const LensCamera<T>& cam, const Projection<T>& projected,
                                     Vec3<T> scale, Quat<T> quat, Vec2<T> v_mean2d, Sym2<T> v_cov) {
    const Seen<T> seen = seen_through(cam, projected.camera);
    T v_j[2][3];
    jacobian_gradient(seen, covariance_vjp(footprint(cam, seen, quat), scale, v_cov).a, v_j);
    return lens_intrinsics_vjp(cam.lens, seen.point, seen.at, v_mean2d, v_j);
}

}  // namespace gs::math
