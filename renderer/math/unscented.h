// A 3D Gaussian by the unscented transform: its mean and six points around it go through the whole
// camera, lens and shutter, each point at the moment its own row is read, and what they make up in
// the picture is its ellipse. Where a Jacobian stands for a lens only near the mean (wide lenses,
// strong distortion, large or near Gaussians) that is closer to what the lens does. Renderers take
// UnscentedCamera as a template argument where they take Pinhole or LensCamera.
//
// Sources: Julier and Uhlmann 1997; Wu et al. 2025 (3DGUT), gsplat. With the points at
// mean +- g s_k r_k (s_k, r_k: standard deviation and axis k, g = alpha sqrt(3 + kappa)), d+ and d-
// their places against the mean's own, a_k = (d+ - d-) / 2g and b_k = (d+ + d-) / 2g, the weighted
// sums of the papers are
//     mean = the mean's place + e, e = sum b_k / g,
//     cov  = sum a_k a_k^T + sum b_k b_k^T + (beta - alpha^2) e e^T,
// of which nothing cancels and nothing can be indefinite while beta >= alpha^2. Where the lens is
// straight b is 0 and a_k is what the Jacobian makes of the axis: EWA (project_lens.h).
//
// An axis counts where both its points do: the lens sees them, their rows are read, and through a
// perspective lens they lie within the picture widened as for EWA's slopes. Of the others a_k comes
// from the Jacobian at the mean and b_k is 0. Whether the Gaussian draws is up to its mean, as
// ever; but one of more than 1e15 world units draws nothing, because its points have no place in
// float.
#pragma once

#include "renderer/math/project_lens.h"

namespace gs::math {

template <class T>
struct UnscentedCamera : LensCamera<T> {};

/// What alpha, beta and kappa come to.
template <class T>
struct SigmaWeights {
    T spread;  ///< alpha sqrt(3 + kappa): how many standard deviations the points lie apart
    T shift;   ///< beta - alpha^2, not negative: of e e^T
};
/// 3DGUT's own: alpha 1, beta 2, kappa 0.
template <class T>
GS_HD SigmaWeights<T> usual_weights() {
    return {number<T>(1.7320508075688772), T(1.0f)};
}

/// The mean or one of the points as the camera sees it.
template <class T>
struct SigmaPoint {
    Seen<T> seen;
    Vec2<T> from_middle;      ///< px from the principal point
    MaskOf<T> valid, counts;  ///< seen by the lens; and not beyond the bounds either
};
/// `c`: in camera axes at half the read-out.
template <class T>
GS_HD SigmaPoint<T> sigma_point(const LensCamera<T>& cam, Vec3<T> c) {
    const Seen<T> seen = seen_through(cam, c);
    const Vec2<T> own = base_place(cam.lens.base, seen.point), at = seen.at;
    const Distorted<T> moved = distort(cam.lens, own);
    const auto valid =
        both(lens_sees(cam.lens, seen.point, own, moved.scale), seen.stretch.regular);
    const auto within =
        both(both(at.x <= own.x, at.x >= own.x), both(at.y <= own.y, at.y >= own.y));
    return {seen, from_middle(cam.lens, moved.at), valid, both(valid, within)};
}
/// d place / d point in world axes, through the point's own slopes at its own moment and through
/// that moment. Nothing where it does not count.
template <class T>
struct SigmaSlope {
    Vec3<T> u, v;
};
/// `c`: what `p` is of.
template <class T>
GS_HD SigmaSlope<T> sigma_slope(const LensCamera<T>& cam, Vec3<T> c, const SigmaPoint<T>& p) {
    const Jacobian<T> slopes = lens_jacobian(cam.lens, p.seen.point);
    const auto& j = slopes.j;
    const Mat3<T> world_from_camera = transpose(p.seen.rotation);
    Vec3<T> u = world_from_camera * Vec3<T>{j[0][0], j[0][1], j[0][2]},
            v = world_from_camera * Vec3<T>{j[1][0], j[1][1], j[1][2]};
    if (cam.shutter.on) {
        const Vec2<T> moves = pixel_velocity(slopes, p.seen.velocity);
        const Vec3<T> when = transpose(cam.rotation) * moment_slope(cam, c, p.seen);
        u += moves.x * when;
        v += moves.y * when;
    }
    const T zero(0.0f);
    const auto kept = [&](Vec3<T> x) {
        return Vec3<T>{select(p.counts, x.x, zero), select(p.counts, x.y, zero),
                       select(p.counts, x.z, zero)};
    };
    return {kept(u), kept(v)};
}

/// What is done to arrays by turns, so that the loop over points has one body and no index.
template <class U>
GS_HD void turn(U (&three)[3]) {
    const U first = three[0];
    three[0] = three[1];
    three[1] = three[2];
    three[2] = first;
}
template <class U>
GS_HD void push(U (&six)[6], U last) {
    for (int i = 0; i < 5; ++i) six[i] = six[i + 1];
    six[5] = last;
}
/// Mean and points through the camera: axes 0, 1, 2 on one side, then on the other.
template <class T, bool kSlopes>
struct SigmaPoints {
    Vec3<T> c;              ///< the mean in camera axes at half the read-out
    SigmaPoint<T> middle;   ///< the mean
    Footprint<T> straight;  ///< EWA's at the mean, for axes that do not count
    Vec2<T> apart[6];       ///< px from the mean's place, around a panorama the nearer way
    MaskOf<T> counted[6];
    SigmaSlope<T> slope[kSlopes ? 6 : 1];  ///< without kSlopes nothing
};
template <bool kSlopes, class T>
GS_HD SigmaPoints<T, kSlopes> sigma_points(const LensCamera<T>& cam, T spread, Vec3<T> mean,
                                           Vec3<T> scale, Quat<T> quat) {
    const T zero(0.0f), half(0.5f), width = cam.lens.wrap_width;
    const T s[3] = {spread * scale.x, spread * scale.y, spread * scale.z};
    const Mat3<T> r = quat_to_rotation(quat);
    Vec3<T> offsets[3], offset{zero, zero, zero};
    for (int k = 0; k < 3; ++k) offsets[k] = {s[k] * r.m[0][k], s[k] * r.m[1][k], s[k] * r.m[2][k]};
    SigmaPoints<T, kSlopes> out;
    out.c = cam.rotation * mean + cam.translation;
    for (auto& m : out.counted) m = zero > zero;
    for (int i = 0; i < 7; ++i) {
        const Vec3<T> c = out.c + cam.rotation * offset;
        const SigmaPoint<T> p = sigma_point(cam, c);
        if (i == 0) out.middle = p;
        Vec2<T> by = p.from_middle - out.middle.from_middle;
        by.x =
            by.x - select(by.x > half * width, width, select(by.x < -half * width, -width, zero));
        push(out.apart, by);  // seven times: what the mean is from itself falls out
        push(out.counted, p.counts);
        if constexpr (kSlopes) push(out.slope, sigma_slope(cam, c, p));
        offset = i < 3 ? offsets[0] : -offsets[0];
        turn(offsets);
    }
    out.straight = footprint(cam, out.middle.seen, quat);
    return out;
}

/// The columns that the covariance is the sum of the squares of, px.
template <class T>
struct SigmaColumns {
    Vec2<T> slope[3], bend[3];  ///< a_k, b_k
    Vec2<T> shift;              ///< e
    MaskOf<T> counts[3];        ///< the axis does; else slope is the Jacobian's and bend 0
};
template <class T, bool kSlopes>
GS_HD SigmaColumns<T> sigma_columns(const SigmaPoints<T, kSlopes>& points,
                                    const SigmaWeights<T>& weights, Vec3<T> scale) {
    const T zero(0.0f), half(0.5f);
    const auto& apart = points.apart;
    const auto& counted = points.counted;
    const Footprint<T>& f = points.straight;
    const T share = half / weights.spread, s[3] = {scale.x, scale.y, scale.z};
    SigmaColumns<T> out;
    out.shift = {zero, zero};
    for (int k = 0; k < 3; ++k) {
        const auto counts = both(counted[k], counted[k + 3]);
        const Vec2<T> a = share * (apart[k] - apart[k + 3]), b = share * (apart[k] + apart[k + 3]);
        out.counts[k] = counts;
        out.slope[k] = {select(counts, a.x, f.b[0][k] * s[k]),
                        select(counts, a.y, f.b[1][k] * s[k])};
        out.bend[k] = {select(counts, b.x, zero), select(counts, b.y, zero)};
        out.shift = out.shift + out.bend[k];
    }
    out.shift = (T(1.0f) / weights.spread) * out.shift;
    return out;
}
/// Sum of the squares, and of its minors' (Cauchy-Binet: the determinant, without cancellation).
template <class T>
GS_HD void set_covariance(Projection<T>& out, const SigmaColumns<T>& u,
                          const SigmaWeights<T>& weights) {
    const Vec2<T> all[7] = {u.slope[0],
                            u.slope[1],
                            u.slope[2],
                            u.bend[0],
                            u.bend[1],
                            u.bend[2],
                            sqrt(weights.shift) * u.shift};
    out.cov = {T(0.0f), T(0.0f), T(0.0f)};
    out.det = T(0.0f);
    for (int i = 0; i < 7; ++i) {
        const Vec2<T> a = all[i];
        out.cov = {out.cov.xx + a.x * a.x, out.cov.xy + a.x * a.y, out.cov.yy + a.y * a.y};
        for (int j = 0; j < i; ++j) {
            const T minor = a.x * all[j].y - a.y * all[j].x;
            out.det = out.det + minor * minor;
        }
    }
}

/// The result of projecting one Gaussian, and the input of its backward pass.
template <class T, bool kSlopes>
struct SigmaTrace {
    Projection<T> projection;
    SigmaPoints<T, kSlopes> points;
    SigmaColumns<T> columns;
};
template <bool kSlopes, class T>
GS_HD SigmaTrace<T, kSlopes> trace_unscented(const LensCamera<T>& cam,
                                             const SigmaWeights<T>& weights, Vec3<T> mean,
                                             Vec3<T> scale, Quat<T> quat) {
    SigmaTrace<T, kSlopes> out;
    out.points = sigma_points<kSlopes>(cam, weights.spread, mean, scale, quat);
    out.columns = sigma_columns(out.points, weights, scale);
    const SigmaPoint<T>& middle = out.points.middle;
    Projection<T>& p = out.projection;
    p.camera = out.points.c;
    const auto sized = dot(scale, scale) < number<T>(1e30);
    p.depth = select(both(middle.valid, sized), lens_depth(cam.lens, p.camera), T(-1.0f));
    p.mean = middle.from_middle + out.columns.shift + Vec2<T>{cam.lens.cx, cam.lens.cy};
    const T width = cam.lens.wrap_width, zero(0.0f);  // the shift may cross the seam
    p.mean.x = p.mean.x + select(p.mean.x < zero, width, select(p.mean.x >= width, -width, zero));
    set_covariance(p, out.columns, weights);
    return out;
}
/// As project() of a LensCamera.
template <class T>
GS_HD Projection<T> project(const UnscentedCamera<T>& cam, Vec3<T> mean, Vec3<T> scale,
                            Quat<T> quat) {
    return trace_unscented<false, T>(cam, usual_weights<T>(), mean, scale, quat).projection;
}
/// The same for a backward to follow (project_lens.h).
template <class T>
GS_HD SigmaTrace<T, true> trace(const UnscentedCamera<T>& cam, Vec3<T> mean, Vec3<T> scale,
                                Quat<T> quat) {
    return trace_unscented<true, T>(cam, usual_weights<T>(), mean, scale, quat);
}

/// Gradients on their way back through the columns.
template <class T>
struct SigmaGradients {
    Vec2<T> at[6];  ///< of the points' places, in the order of sigma_columns(); 0 where an axis
                    ///< does not count
    Vec2<T> straight[3];  ///< of the Jacobian's columns; 0 where one does
    Vec2<T> middle;       ///< of the mean's own place
};
template <class T>
GS_HD SigmaGradients<T> sigma_columns_vjp(const SigmaColumns<T>& u, const SigmaWeights<T>& weights,
                                          Vec2<T> v_mean2d, Sym2<T> v_cov) {
    const T zero(0.0f), share = T(0.5f) / weights.spread;
    const Vec2<T> v_shift = v_mean2d + weights.shift * square_vjp(v_cov, u.shift);
    SigmaGradients<T> out;
    out.middle = v_mean2d;
    for (int k = 0; k < 3; ++k) {
        const auto counts = u.counts[k];
        const Vec2<T> a = square_vjp(v_cov, u.slope[k]),
                      b = square_vjp(v_cov, u.bend[k]) + (T(1.0f) / weights.spread) * v_shift;
        const Vec2<T> ahead = share * (b + a), behind = share * (b - a);
        out.at[k] = {select(counts, ahead.x, zero), select(counts, ahead.y, zero)};
        out.at[k + 3] = {select(counts, behind.x, zero), select(counts, behind.y, zero)};
        out.straight[k] = {select(counts, zero, a.x), select(counts, zero, a.y)};
        out.middle = out.middle - out.at[k] - out.at[k + 3];
    }
    return out;
}
/// As project_vjp() of a LensCamera. Exact, also in the moments of a rolling shutter.
template <class T>
GS_HD ProjectionGradients<T> unscented_vjp(const LensCamera<T>& cam, const SigmaTrace<T, true>& was,
                                           const SigmaWeights<T>& weights, Vec3<T> scale,
                                           Quat<T> quat, Vec2<T> v_mean2d, Sym2<T> v_cov,
                                           T v_depth) {
    const SigmaPoints<T, true>& points = was.points;
    const Footprint<T>& f = points.straight;
    const SigmaGradients<T> v = sigma_columns_vjp(was.columns, weights, v_mean2d, v_cov);
    const FootprintGradients<T> straight = columns_vjp(f, scale, v.straight);
    const SigmaPoint<T>& middle = points.middle;
    Vec3<T> v_mean = place_vjp(cam, points.c, middle.seen, v.middle, straight.a) +
                     depth_vjp(cam, points.c, v_depth);
    const T s[3] = {scale.x, scale.y, scale.z};
    T v_scale[3];
    Mat3<T> v_r = straight.r;
    for (int k = 0; k < 3; ++k) {
        const SigmaSlope<T>&ahead = points.slope[k], &behind = points.slope[k + 3];
        const Vec3<T> to_ahead = v.at[k].x * ahead.u + v.at[k].y * ahead.v,
                      to_behind = v.at[k + 3].x * behind.u + v.at[k + 3].y * behind.v;
        v_mean += to_ahead + to_behind;
        const Vec3<T> axis{f.r.m[0][k], f.r.m[1][k], f.r.m[2][k]},
            by = weights.spread * (to_ahead - to_behind);
        v_scale[k] = straight.scale[k] + dot(axis, by);
        v_r.m[0][k] = v_r.m[0][k] + s[k] * by.x;
        v_r.m[1][k] = v_r.m[1][k] + s[k] * by.y;
        v_r.m[2][k] = v_r.m[2][k] + s[k] * by.z;
    }
    return {v_mean, {v_scale[0], v_scale[1], v_scale[2]}, quat_to_rotation_vjp(quat, v_r)};
}
/// The gradients, from the result of trace() for the same Gaussian.
template <class T>
GS_HD ProjectionGradients<T> trace_vjp(const UnscentedCamera<T>& cam,
                                       const SigmaTrace<T, true>& was, Vec3<T>, Vec3<T> scale,
                                       Quat<T> quat, Vec2<T> v_mean2d, Sym2<T> v_cov, T v_depth) {
    return unscented_vjp<T>(cam, was, usual_weights<T>(), scale, quat, v_mean2d, v_cov, v_depth);
}

}  // namespace gs::math
