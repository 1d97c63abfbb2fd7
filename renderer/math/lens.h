// Every lens as functions: where a point falls, how the picture moves with the point, what a
// gradient of both is to the point, and the ray of a pixel. For renderers (project_lens.h), for
// photos (io/captures/undistort.h) and for whoever asks a Camera. lens_maps.h has the formulas,
// scene/camera_lens.h makes a Lens of a Camera. Camera axes: x right, y down, z ahead; pixel
// centres at +0.5.
#pragma once

#include <type_traits>

#include "renderer/math/lens_maps.h"

namespace gs::math {

template <class T>
struct OnPicture {
    Vec2<T> uv;  ///< px; nothing where not valid
    MaskOf<T> valid;
};
/// Whether a point whose place is `at` is seen: in front where rays cannot go sideways, within the
/// radius where the lens ends or folds back, and with the least radial scale. False for NaN.
template <class T>
GS_HD MaskOf<T> lens_sees(const Lens<T>& lens, Vec3<T> c, Vec2<T> at, T scale) {
    const auto within = both(at.x * at.x + at.y * at.y<lens.limit_squared, scale> lens.least_scale);
    if (lens.base == LensBase::angles) return both(within, dot(c, c) > T(0.0f));
    if (lens.base == LensBase::equidistant)  // whose axis behind would fall on its middle
        return both(within, either(c.z > T(0.0f), c.x * c.x + c.y * c.y > T(1e-28f)));
    return both(within, c.z > T(0.0f));
}
template <class T>
GS_HD Vec2<T> to_pixels(const Lens<T>& lens, Vec2<T> p) {
    return {lens.fx * (lens.mix[0][0] * p.x + lens.mix[0][1] * p.y) + lens.cx,
            lens.fy * (lens.mix[1][0] * p.x + lens.mix[1][1] * p.y) + lens.cy};
}
/// From the principal point: what places near each other differ by keeps its digits.
template <class T>
GS_HD Vec2<T> from_middle(const Lens<T>& lens, Vec2<T> p) {
    return {lens.fx * (lens.mix[0][0] * p.x + lens.mix[0][1] * p.y),
            lens.fy * (lens.mix[1][0] * p.x + lens.mix[1][1] * p.y)};
}
/// Of a point in camera axes.
template <class T>
GS_HD OnPicture<T> lens_project(const Lens<T>& lens, Vec3<T> c) {
    const Vec2<T> at = base_place(lens.base, c);
    const Distorted<T> moved = distort(lens, at);
    return {to_pixels(lens, moved.at), lens_sees(lens, c, at, moved.scale)};
}
/// What depth is through this lens: where rays go sideways or back, the distance.
template <class T>
GS_HD T lens_depth(const Lens<T>& lens, Vec3<T> c) {
    return lens.by_distance ? sqrt(dot(c, c)) : c.z;
}

/// d uv / d point, px per unit.
template <class T>
struct Jacobian {
    T j[2][3];
};
/// With the slopes of `at`: the point's own place, or one kept within bounds.
template <class T>
GS_HD Jacobian<T> lens_jacobian_at(const Lens<T>& lens, Vec3<T> c, Vec2<T> at) {
    const BaseJacobian<T> base = base_jacobian(lens.base, c, at);
    const Distorted<T> moved = distort(lens, at);
    Jacobian<T> out;
    for (int k = 0; k < 3; ++k) {
        const Vec2<T> p{moved.j[0][0] * base.j[0][k] + moved.j[0][1] * base.j[1][k],
                        moved.j[1][0] * base.j[0][k] + moved.j[1][1] * base.j[1][k]};
        out.j[0][k] = lens.fx * (lens.mix[0][0] * p.x + lens.mix[0][1] * p.y);
        out.j[1][k] = lens.fy * (lens.mix[1][0] * p.x + lens.mix[1][1] * p.y);
    }
    return out;
}
template <class T>
GS_HD Jacobian<T> lens_jacobian(const Lens<T>& lens, Vec3<T> c) {
    return lens_jacobian_at(lens, c, base_place(lens.base, c));
}
/// For a Gaussian's extent: a perspective lens has the slopes of the picture widened by 0.3 tan(fov
/// / 2) on each side where the point lies further out, as pinholes have (project.h).
template <class T>
GS_HD Vec2<T> bounded_place(const Lens<T>& lens, Vec2<T> at) {
    if (lens.base != LensBase::perspective) return at;
    return {min(max(at.x, lens.a_lo), lens.a_hi), min(max(at.y, lens.b_lo), lens.b_hi)};
}

/// From px back to the distorted plane.
template <class T>
GS_HD Vec2<T> from_pixels_vjp(const Lens<T>& lens, T v_u, T v_v) {
    const T u = lens.fx * v_u, v = lens.fy * v_v;
    return {u * lens.mix[0][0] + v * lens.mix[1][0], u * lens.mix[0][1] + v * lens.mix[1][1]};
}
/// Gradient with respect to the point: `v_uv` through its pixel, `v_j` through the Jacobian whose
/// place is `at` (bounded_place() of it; what is beyond the bounds does not move).
template <class T>
GS_HD Vec3<T> lens_vjp_at(const Lens<T>& lens, Vec3<T> c, Vec2<T> at, Vec2<T> v_uv,
                          const T v_j[2][3]) {
    const Vec2<T> own = base_place(lens.base, c);
    const BaseJacobian<T> base = base_jacobian(lens.base, c, at),
                          own_base = base_jacobian(lens.base, c, own);
    const Distorted<T> moved = distort(lens, at), own_moved = distort(lens, own);
    // J = mix distortion base: back to each of the two.
    T v_base[2][3], v_moved[2][2] = {{T(0.0f), T(0.0f)}, {T(0.0f), T(0.0f)}};
    for (int k = 0; k < 3; ++k) {
        const Vec2<T> w = from_pixels_vjp(lens, v_j[0][k], v_j[1][k]);
        v_base[0][k] = moved.j[0][0] * w.x + moved.j[1][0] * w.y;
        v_base[1][k] = moved.j[0][1] * w.x + moved.j[1][1] * w.y;
        v_moved[0][0] = v_moved[0][0] + w.x * base.j[0][k];
        v_moved[0][1] = v_moved[0][1] + w.x * base.j[1][k];
        v_moved[1][0] = v_moved[1][0] + w.y * base.j[0][k];
        v_moved[1][1] = v_moved[1][1] + w.y * base.j[1][k];
    }
    const BaseBend<T> bend = base_bend_vjp(lens.base, c, at, v_base);
    Vec2<T> v_at = bend.v_at + distort_bend_vjp(lens, at, v_moved);
    if (lens.base == LensBase::perspective) {
        const T zero(0.0f);
        v_at.x = select(both(at.x <= own.x, at.x >= own.x), v_at.x, zero);
        v_at.y = select(both(at.y <= own.y, at.y >= own.y), v_at.y, zero);
    }
    const Vec2<T> w = from_pixels_vjp(lens, v_uv.x, v_uv.y);
    v_at.x = v_at.x + own_moved.j[0][0] * w.x + own_moved.j[1][0] * w.y;
    v_at.y = v_at.y + own_moved.j[0][1] * w.x + own_moved.j[1][1] * w.y;
    const auto& j = own_base.j;
    return {bend.v_point.x + v_at.x * j[0][0] + v_at.y * j[1][0],
            bend.v_point.y + v_at.x * j[0][1] + v_at.y * j[1][1],
            bend.v_point.z + v_at.x * j[0][2] + v_at.y * j[1][2]};
}
template <class T>
GS_HD Vec3<T> lens_vjp(const Lens<T>& lens, Vec3<T> c, Vec2<T> v_uv, const T v_j[2][3]) {
    return lens_vjp_at(lens, c, base_place(lens.base, c), v_uv, v_j);
}

/// Where light of a pixel comes from, in camera axes.
template <class T>
struct Ray {
    Vec3<T> origin;     ///< not 0 for parallel rays only
    Vec3<T> direction;  ///< length 1
    MaskOf<T> valid;
};
/// Newton's steps double the digits: the square of the last step that counts, relative.
template <class T>
GS_HD T root_step() {
    return sizeof(T) > sizeof(float) ? number<T>(1e-18) : number<T>(1e-10);
}
/// The r below the lens's limit with r D(r^2) = `to`: Newton's steps, kept between bounds.
template <class T>
GS_HD T undistorted_radius(const Lens<T>& lens, T to) {
    if (lens.radial == LensRadial::none) return to;
    if (lens.radial == LensRadial::inverse_polynomial) return polynomial_at(lens, to);
    T lo(0.0f), hi = min(sqrt(lens.limit_squared), T(1e4f));
    T r = min(to, hi);
    for (int i = 0; i < 40; ++i) {
        const RadialFactor<T> f = radial_factor(lens, r * r);
        const T over = r * f.d - to;
        lo = select(over < T(0.0f), r, lo);
        hi = select(over < T(0.0f), hi, r);
        const T step = r - over / (f.d + T(2.0f) * r * r * f.d1), middle = T(0.5f) * (lo + hi);
        const T next = select(both(step >= lo, step <= hi), step, middle);
        const T by = next - r;
        r = next;
        if constexpr (std::is_same_v<MaskOf<T>, bool>)
            if (by * by <= root_step<T>() * r * r) break;
    }
    return r;
}
/// The place that distortion moves to `to`.
template <class T>
GS_HD Vec2<T> undistorted_place(const Lens<T>& lens, Vec2<T> to) {
    const T length = sqrt(max(to.x * to.x + to.y * to.y, T(1e-30f)));
    const T scale = undistorted_radius(lens, length) / length;
    Vec2<T> at{scale * to.x, scale * to.y};
    if (!lens.decentred) return at;
    for (int i = 0; i < 12; ++i) {  // the radial answer is near; Newton on both coordinates
        const Distorted<T> moved = distort(lens, at);
        const Vec2<T> off = to - moved.at;
        const auto& j = moved.j;
        const T inverse = T(1.0f) / (j[0][0] * j[1][1] - j[0][1] * j[1][0]);
        const Vec2<T> by{inverse * (j[1][1] * off.x - j[0][1] * off.y),
                         inverse * (j[0][0] * off.y - j[1][0] * off.x)};
        at = at + by;
        if constexpr (std::is_same_v<MaskOf<T>, bool>)
            if (by.x * by.x + by.y * by.y <= root_step<T>() * (at.x * at.x + at.y * at.y)) break;
    }
    return at;
}
/// The point at distance 1 whose place is `at`, or, of parallel rays, at depth 0.
template <class T>
GS_HD Vec3<T> direction_of(LensBase base, Vec2<T> at) {
    const T one(1.0f);
    if (base == LensBase::equidistant) {
        const T theta = sqrt(max(at.x * at.x + at.y * at.y, T(1e-30f))), s = sin(theta) / theta;
        return {s * at.x, s * at.y, cos(theta)};
    }
    if (base == LensBase::angles) {
        const T around = cos(at.y);
        return {around * sin(at.x), sin(at.y), around * cos(at.x)};
    }
    if (base == LensBase::parallel) return {T(0.0f), T(0.0f), one};
    const T s = one / sqrt(at.x * at.x + at.y * at.y + one);
    return {s * at.x, s * at.y, s};
}
/// Of a place of the picture, px. Not valid where no point that the lens sees falls there.
template <class T>
GS_HD Ray<T> lens_ray(const Lens<T>& lens, Vec2<T> uv) {
    const T zero(0.0f), x = (uv.x - lens.cx) / lens.fx, y = (uv.y - lens.cy) / lens.fy;
    const auto& m = lens.mix;
    const T inverse = T(1.0f) / (m[0][0] * m[1][1] - m[0][1] * m[1][0]);
    const Vec2<T> to{inverse * (m[1][1] * x - m[0][1] * y), inverse * (m[0][0] * y - m[1][0] * x)};
    const Vec2<T> at = undistorted_place(lens, to);
    const Distorted<T> moved = distort(lens, at);
    const Vec2<T> off = moved.at - to;
    Ray<T> ray{{zero, zero, zero}, direction_of(lens.base, at), zero > zero};
    const T reach = T(1.0f) + to.x * to.x + to.y * to.y;
    const auto found = off.x * off.x + off.y * off.y < T(1e-10f) * reach;
    if (lens.base == LensBase::parallel) {
        ray.origin = {at.x, at.y, zero};
        ray.valid = found;
    } else if (lens.base == LensBase::angles) {  // nothing lies beyond a pole
        ray.valid = both(found, both(at.y >= number<T>(-1.5707963267948966),
                                     at.y <= number<T>(1.5707963267948966)));
    } else {
        ray.valid = both(found, lens_sees(lens, ray.direction, at, moved.scale));
    }
    return ray;
}

}  // namespace gs::math
