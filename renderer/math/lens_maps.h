// What lenses are made of: a point in camera axes goes to a plane (x/z, angles, ...), is moved
// there by the lens's distortion, and stretched to pixels. Here are the two maps, each with its
// Jacobian and what a gradient of that Jacobian does to its inputs; lens.h puts them together.
// Uniform over a frame is what the host decides (base, radial), never a lane.
//
// Sources: OpenCV calib3d (rational, tangential and thin prism distortion; fisheye: Kannala and
// Brandt 2006), COLMAP (THIN_PRISM_FISHEYE), NVIDIA's FTheta camera as in gsplat, equirectangular
// pictures as in splat-transform. Derivatives by hand; tests hold them against dual numbers.
#pragma once

#include "base/vec.h"
#include "renderer/math/scalar.h"

namespace gs::math {

template <class T>
using MaskOf = decltype(T(0.0f) < T(0.0f));

/// A constant in T's own precision.
template <class T>
GS_HD T number(double x) {
    if constexpr (requires(double d) { T{d}; })
        return T{x};
    else
        return T(static_cast<float>(x));
}

/// Where a point goes first: (x/z, y/z) | theta (x, y) / sqrt(x^2 + y^2), theta the angle from the
/// axis | longitude and latitude | (x, y).
enum class LensBase : int { perspective, equidistant, angles, parallel };
/// Factor of the distance r from the middle of that plane: 1 | (1 + n r^2 ...) / (1 + m r^2 ...) |
/// P(r) / r | d / r where P(d) = r.
enum class LensRadial : int { none, rational, polynomial, inverse_polynomial };

/// The constants of a lens, broadcast to the scalar type.
template <class T>
struct Lens {
    using Base = LensBase;
    LensBase base = LensBase::perspective;
    LensRadial radial = LensRadial::none;
    bool decentred = false;    ///< tangential or thin prism terms count
    bool by_distance = false;  ///< depth is the distance from the camera, else its z
    T fx, fy, cx, cy;          ///< px
    T mix[2][2];               ///< u = fx (mix row 0) (a, b) + cx, v = fy (mix row 1) (a, b) + cy
    T n[4], m[3];      ///< of r^2, r^4, ...: numerator and denominator of the rational factor
    T poly[5];         ///< P(r) = poly[0] r + ... + poly[4] r^5
    T p1, p2;          ///< tangential
    T s1, s2, s3, s4;  ///< thin prism
    T limit_squared;   ///< points with r^2 below it are seen: where the lens folds back, or ends
    T least_scale;     ///< and with a radial factor above this
    T a_lo, a_hi, b_lo, b_hi;  ///< of perspective: bounds of (x/z, y/z) for a Gaussian's extent
    T wrap_width;              ///< px after which the picture repeats; 0: never
};
/// `from` is of float or double.
template <class T, class S>
GS_HD Lens<T> lens_cast(const Lens<S>& from) {
    Lens<T> to;
    to.base = from.base;
    to.radial = from.radial;
    to.decentred = from.decentred;
    to.by_distance = from.by_distance;
    const auto cast = [](S x) { return number<T>(static_cast<double>(x)); };
    to.fx = cast(from.fx), to.fy = cast(from.fy), to.cx = cast(from.cx), to.cy = cast(from.cy);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) to.mix[i][j] = cast(from.mix[i][j]);
    for (int i = 0; i < 4; ++i) to.n[i] = cast(from.n[i]);
    for (int i = 0; i < 3; ++i) to.m[i] = cast(from.m[i]);
    for (int i = 0; i < 5; ++i) to.poly[i] = cast(from.poly[i]);
    to.p1 = cast(from.p1), to.p2 = cast(from.p2);
    to.s1 = cast(from.s1), to.s2 = cast(from.s2), to.s3 = cast(from.s3), to.s4 = cast(from.s4);
    to.limit_squared = cast(from.limit_squared);
    to.least_scale = cast(from.least_scale);
    to.a_lo = cast(from.a_lo), to.a_hi = cast(from.a_hi);
    to.b_lo = cast(from.b_lo), to.b_hi = cast(from.b_hi);
    to.wrap_width = cast(from.wrap_width);
    return to;
}

/// The radial factor D as a function of q = r^2, and its first two derivatives by q.
template <class T>
struct RadialFactor {
    T d, d1, d2;
};
template <class T>
GS_HD RadialFactor<T> rational_factor(const Lens<T>& lens, T q) {
    const T *n = lens.n, *m = lens.m;
    const T one(1.0f), two(2.0f), three(3.0f), four(4.0f), six(6.0f), twelve(12.0f);
    const T top = one + q * (n[0] + q * (n[1] + q * (n[2] + q * n[3])));
    const T top1 = n[0] + q * (two * n[1] + q * (three * n[2] + four * q * n[3]));
    const T top2 = two * n[1] + q * (six * n[2] + twelve * q * n[3]);
    const T below = one + q * (m[0] + q * (m[1] + q * m[2]));
    const T below1 = m[0] + q * (two * m[1] + three * q * m[2]);
    const T below2 = two * m[1] + six * q * m[2];
    const T inverse = one / below, d = top * inverse, d1 = (top1 - d * below1) * inverse;
    return {d, d1, (top2 - two * d1 * below1 - d * below2) * inverse};
}
/// P(d) for P without a constant term.
template <class T>
GS_HD T polynomial_at(const Lens<T>& lens, T d) {
    const T* c = lens.poly;
    return d * (c[0] + d * (c[1] + d * (c[2] + d * (c[3] + d * c[4]))));
}
template <class T>
GS_HD T polynomial_slope(const Lens<T>& lens, T d) {
    const T* c = lens.poly;
    return c[0] +
           d * (T(2.0f) * c[1] + d * (T(3.0f) * c[2] + d * (T(4.0f) * c[3] + T(5.0f) * d * c[4])));
}
template <class T>
GS_HD RadialFactor<T> polynomial_factor(const Lens<T>& lens, T q) {
    const T* c = lens.poly;
    const T two(2.0f), three(3.0f), four(4.0f), half(0.5f);
    // Odd powers of r have no derivatives by q in the middle; what they are multiplied with is 0.
    const T r = sqrt(max(q, T(1e-12f)));
    T e, e1, e2;  // D as a function of r
    if (lens.radial == LensRadial::polynomial) {
        e = c[0] + r * (c[1] + r * (c[2] + r * (c[3] + r * c[4])));
        e1 = c[1] + r * (two * c[2] + r * (three * c[3] + four * r * c[4]));
        e2 = two * c[2] + r * (T(6.0f) * c[3] + T(12.0f) * r * c[4]);
    } else {
        T d = r / c[0];
        for (int i = 0; i < 8; ++i)
            d = d - (polynomial_at(lens, d) - r) / polynomial_slope(lens, d);
        const T slope = polynomial_slope(lens, d), inverse = T(1.0f) / r;
        const T bend =
            two * c[1] + d * (T(6.0f) * c[2] + d * (T(12.0f) * c[3] + T(20.0f) * d * c[4]));
        const T slope1 = T(1.0f) / slope;  // d' as a function of r
        e = d * inverse;
        e1 = (slope1 - e) * inverse;
        e2 = (-bend * slope1 * slope1 * slope1 - two * e1) * inverse;
    }
    const T over_r = half / r;
    return {e, e1 * over_r, (e2 - e1 / r) * over_r * over_r};
}
template <class T>
GS_HD RadialFactor<T> radial_factor(const Lens<T>& lens, T q) {
    if (lens.radial == LensRadial::none) return {T(1.0f), T(0.0f), T(0.0f)};
    if (lens.radial == LensRadial::rational) return rational_factor(lens, q);
    return polynomial_factor(lens, q);
}

/// Where distortion moves a place of the plane, and d moved / d place.
template <class T>
struct Distorted {
    Vec2<T> at;
    T j[2][2];
    T scale;  ///< the radial factor
};
template <class T>
GS_HD Distorted<T> distort(const Lens<T>& lens, Vec2<T> p) {
    const T a = p.x, b = p.y, two(2.0f);
    const T q = a * a + b * b;
    const RadialFactor<T> f = radial_factor(lens, q);
    Distorted<T> out;
    out.scale = f.d;
    out.at = {f.d * a, f.d * b};
    const T twist = two * f.d1 * a * b;
    out.j[0][0] = f.d + two * f.d1 * a * a;
    out.j[0][1] = out.j[1][0] = twist;
    out.j[1][1] = f.d + two * f.d1 * b * b;
    if (!lens.decentred) return out;
    const T p1 = lens.p1, p2 = lens.p2, six(6.0f);
    const T prism_x = lens.s1 + two * lens.s2 * q, prism_y = lens.s3 + two * lens.s4 * q;
    out.at.x = out.at.x + two * p1 * a * b + p2 * (q + two * a * a) + q * (lens.s1 + q * lens.s2);
    out.at.y = out.at.y + p1 * (q + two * b * b) + two * p2 * a * b + q * (lens.s3 + q * lens.s4);
    const T across = two * (p1 * a + p2 * b);
    out.j[0][0] = out.j[0][0] + two * p1 * b + six * p2 * a + two * a * prism_x;
    out.j[0][1] = out.j[0][1] + across + two * b * prism_x;
    out.j[1][0] = out.j[1][0] + across + two * a * prism_y;
    out.j[1][1] = out.j[1][1] + six * p1 * b + two * p2 * a + two * b * prism_y;
    return out;
}
/// What a gradient `v` with respect to Distorted::j is with respect to the place.
template <class T>
GS_HD Vec2<T> distort_bend_vjp(const Lens<T>& lens, Vec2<T> p, const T v[2][2]) {
    if (lens.radial == LensRadial::none && !lens.decentred) return {T(0.0f), T(0.0f)};
    const T a = p.x, b = p.y, two(2.0f), four(4.0f), six(6.0f), eight(8.0f);
    const T q = a * a + b * b;
    const RadialFactor<T> f = radial_factor(lens, q);
    const T mixed = v[0][1] + v[1][0];
    // d^2 (D a) / d(a, b)^2 and d^2 (D b) / d(a, b)^2.
    const T a1 = two * f.d1 * a, b1 = two * f.d1 * b, a2 = four * f.d2 * a, b2 = four * f.d2 * b;
    const T aab = b1 + a2 * a * b, abb = a1 + b2 * a * b;
    T v_a = v[0][0] * (T(3.0f) * a1 + a2 * a * a) + mixed * aab + v[1][1] * abb;
    T v_b = v[0][0] * aab + mixed * abb + v[1][1] * (T(3.0f) * b1 + b2 * b * b);
    if (!lens.decentred) return {v_a, v_b};
    const T p1 = lens.p1, p2 = lens.p2;
    const T prism_x = two * (lens.s1 + two * lens.s2 * q),
            prism_y = two * (lens.s3 + two * lens.s4 * q);
    const T curl_x = eight * lens.s2, curl_y = eight * lens.s4;
    v_a = v_a + v[0][0] * (six * p2 + prism_x + curl_x * a * a) +
          v[0][1] * (two * p1 + curl_x * a * b) + v[1][0] * (two * p1 + prism_y + curl_y * a * a) +
          v[1][1] * (two * p2 + curl_y * a * b);
    v_b = v_b + v[0][0] * (two * p1 + curl_x * a * b) +
          v[0][1] * (two * p2 + prism_x + curl_x * b * b) + v[1][0] * (two * p2 + curl_y * a * b) +
          v[1][1] * (six * p1 + prism_y + curl_y * b * b);
    return {v_a, v_b};
}

/// theta (x, y) / rho = g (x, y): g, h = (dg / d rho) / rho, m = (dh / d rho) / rho.
template <class T>
struct EquidistantFactor {
    T g, h, m;
    T inverse;  ///< 1 / (x^2 + y^2 + z^2)
};
template <class T>
GS_HD EquidistantFactor<T> equidistant_factor(Vec3<T> c) {
    const T one(1.0f), two(2.0f), three(3.0f);
    const T rho2 = c.x * c.x + c.y * c.y, z2 = c.z * c.z;
    const T apart2 = max(rho2, T(1e-30f)), rho = sqrt(apart2);
    EquidistantFactor<T> f;
    f.inverse = one / (rho2 + z2);
    f.g = atan2(rho, c.z) / rho;
    const T over = one / apart2, forward = c.z * f.inverse;
    f.h = (forward - f.g) * over;
    f.m = -(two * forward * f.inverse + three * f.h) * over;
    // Near the axis both cancel: their series in t = (rho / z)^2, exact to 1e-11 below 0.04.
    const auto near = both(c.z > T(0.0f), rho2 < number<T>(0.04) * z2);
    const T w = one / select(near, z2, one), t = select(near, rho2, T(0.0f)) * w;
    const T w3 = select(near, c.z, one) * w * w;
    T h = number<T>(-16.0 / 17), m = number<T>(16.0 * 18 / 19);
    h = number<T>(-14.0 / 15) - t * h, m = number<T>(14.0 * 16 / 17) - t * m;
    h = number<T>(-12.0 / 13) - t * h, m = number<T>(12.0 * 14 / 15) - t * m;
    h = number<T>(-10.0 / 11) - t * h, m = number<T>(10.0 * 12 / 13) - t * m;
    h = number<T>(-8.0 / 9) - t * h, m = number<T>(8.0 * 10 / 11) - t * m;
    h = number<T>(-6.0 / 7) - t * h, m = number<T>(6.0 * 8 / 9) - t * m;
    h = number<T>(-4.0 / 5) - t * h, m = number<T>(4.0 * 6 / 7) - t * m;
    h = number<T>(-2.0 / 3) - t * h, m = number<T>(2.0 * 4 / 5) - t * m;
    f.h = select(near, h * w3, f.h);
    f.m = select(near, m * w3 * w, f.m);
    return f;
}
/// Longitude and latitude fail at the poles: nobody is nearer to them than this angle, rad.
template <class T>
GS_HD T pole_distance(Vec3<T> c) {
    const T around = c.x * c.x + c.z * c.z;
    return sqrt(max(around, number<T>(1e-8) * (around + c.y * c.y)));
}

/// The plane that distortion works in.
template <class T>
GS_HD Vec2<T> base_place(LensBase base, Vec3<T> c) {
    if (base == LensBase::perspective) {
        const T w = T(1.0f) / c.z;
        return {c.x * w, c.y * w};
    }
    if (base == LensBase::equidistant) {
        const T rho = sqrt(max(c.x * c.x + c.y * c.y, T(1e-30f))), g = atan2(rho, c.z) / rho;
        return {g * c.x, g * c.y};
    }
    if (base == LensBase::angles) return {atan2(c.x, c.z), atan2(c.y, sqrt(c.x * c.x + c.z * c.z))};
    return {c.x, c.y};
}
/// d place / d point. `at`: the place; of perspective it may be another, for bounded slopes.
template <class T>
struct BaseJacobian {
    T j[2][3];
};
template <class T>
GS_HD BaseJacobian<T> base_jacobian(LensBase base, Vec3<T> c, Vec2<T> at) {
    const T zero(0.0f), one(1.0f);
    if (base == LensBase::perspective) {
        const T w = one / c.z;
        return {{{w, zero, -at.x * w}, {zero, w, -at.y * w}}};
    }
    if (base == LensBase::equidistant) {
        const EquidistantFactor<T> f = equidistant_factor(c);
        const T twist = f.h * c.x * c.y;
        return {{{f.g + f.h * c.x * c.x, twist, -c.x * f.inverse},
                 {twist, f.g + f.h * c.y * c.y, -c.y * f.inverse}}};
    }
    if (base == LensBase::angles) {
        const T rho = pole_distance(c), over = one / rho, over2 = over * over;
        const T inverse = one / (c.x * c.x + c.y * c.y + c.z * c.z), slope = -c.y * inverse * over;
        return {{{c.z * over2, zero, -c.x * over2}, {slope * c.x, rho * inverse, slope * c.z}}};
    }
    return {{{one, zero, zero}, {zero, one, zero}}};
}
/// What a gradient `v` with respect to BaseJacobian::j is with respect to the point; of perspective
/// without its part through `at`, which is returned as `v_at`.
template <class T>
struct BaseBend {
    Vec3<T> v_point;
    Vec2<T> v_at;
};
template <class T>
GS_HD BaseBend<T> equidistant_bend_vjp(Vec3<T> c, const T v[2][3]) {
    const EquidistantFactor<T> f = equidistant_factor(c);
    const T zero(0.0f), two(2.0f), three(3.0f), x = c.x, y = c.y;
    const T mixed = v[0][1] + v[1][0], hx = f.h * x, hy = f.h * y, mxy = f.m * x * y;
    const T xxy = hy + mxy * x, xyy = hx + mxy * y;
    const T xxx = three * hx + f.m * x * x * x, yyy = three * hy + f.m * y * y * y;
    // By z: of g it is -1 / R^2, of h 2 / R^4.
    const T slope = two * f.inverse * f.inverse;
    const T xz = slope * x * x - f.inverse, yz = slope * y * y - f.inverse, xyz = slope * x * y;
    const T zz = slope * c.z;
    Vec3<T> out;
    out.x = v[0][0] * xxx + mixed * xxy + v[1][1] * xyy + v[0][2] * xz + v[1][2] * xyz;
    out.y = v[0][0] * xxy + mixed * xyy + v[1][1] * yyy + v[0][2] * xyz + v[1][2] * yz;
    out.z = v[0][0] * xz + mixed * xyz + v[1][1] * yz + (v[0][2] * x + v[1][2] * y) * zz;
    return {out, {zero, zero}};
}
template <class T>
GS_HD BaseBend<T> angles_bend_vjp(Vec3<T> c, const T v[2][3]) {
    const T zero(0.0f), one(1.0f), two(2.0f);
    const T rho = pole_distance(c), over = one / rho, i = one / (rho * rho + c.y * c.y);
    const T x = c.x * over, z = c.z * over;  // on the circle around the pole
    const T lon = two * x * z * over * over, lon_xz = (x * x - z * z) * over * over;
    const T lat_r = -c.y * i * over, lat_rr = two * c.y * rho * i * i;
    const T lat_ry = (c.y * c.y - rho * rho) * i * i;
    const T xx = lat_rr * x * x + lat_r * z * z, zz = lat_rr * z * z + lat_r * x * x;
    const T xz = (lat_rr - lat_r) * x * z;
    Vec3<T> out;
    out.x = -v[0][0] * lon + v[0][2] * lon_xz + v[1][0] * xx + v[1][1] * lat_ry * x + v[1][2] * xz;
    out.y = (v[1][0] * x + v[1][2] * z) * lat_ry - v[1][1] * lat_rr;
    out.z = v[0][0] * lon_xz + v[0][2] * lon + v[1][0] * xz + v[1][1] * lat_ry * z + v[1][2] * zz;
    return {out, {zero, zero}};
}
template <class T>
GS_HD BaseBend<T> base_bend_vjp(LensBase base, Vec3<T> c, Vec2<T> at, const T v[2][3]) {
    const T zero(0.0f);
    if (base == LensBase::perspective) {
        const T w = T(1.0f) / c.z;
        const T along = v[0][2] * at.x + v[1][2] * at.y - v[0][0] - v[1][1];
        return {{zero, zero, along * w * w}, {-v[0][2] * w, -v[1][2] * w}};
    }
    if (base == LensBase::equidistant) return equidistant_bend_vjp(c, v);
    if (base == LensBase::angles) return angles_bend_vjp(c, v);
    return {{zero, zero, zero}, {zero, zero}};
}

}  // namespace gs::math
