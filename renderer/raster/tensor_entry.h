// One Gaussian of flat arrays through one camera, and its gradients back, in double: what the loops
// of cpu/tensor_project.cpp and the kernels of cuda/tensor_project.cu both do. Host and device.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "renderer/math/lens.h"
#include "renderer/math/project.h"
#include "renderer/math/unscented.h"
#include "renderer/raster/tensor_view.h"

namespace gs::tensor {

inline constexpr double kLeastAlpha = 1.0 / 255;

GS_HD inline Vec3d vec3_at(const float* p) { return {p[0], p[1], p[2]}; }
GS_HD inline Quatd quat_at(const ProjectInput& in, std::size_t row) {
    const float* q = in.quats + 4 * row;
    return {q[0], q[1], q[2], q[3]};
}

/// gsplat's alpha 0.1, beta 2, kappa 0.
GS_HD inline math::SigmaWeights<double> gsplat_weights() { return {0.17320508075688773, 1.99}; }

/// One Gaussian through one camera.
struct Through {
    Vec3d c;           ///< mean in camera axes; of a rolling shutter at half the read-out
    bool seen = true;  ///< as far as that is up to the camera
    math::SigmaTrace<double, true> trace;  ///< unscented; then nothing but it down to `projected`
    Vec2<double> at;                       ///< the place that the Jacobian is of
    math::Jacobian<double> j;
    math::Footprint<double> footprint;  ///< of covars: a alone
    double sigma[3][3];                 ///< of covars
    math::Projection<double> projected;
    math::Conic<double> conic;
    double compensation;  ///< 1 unless antialiased
};
GS_HD inline void covariance_of_matrix(const float* v, Through& t) {
    const double s[3][3] = {{v[0], v[1], v[2]}, {v[1], v[3], v[4]}, {v[2], v[4], v[5]}};
    for (int i = 0; i < 9; ++i) t.sigma[i / 3][i % 3] = s[i / 3][i % 3];
    const auto& a = t.footprint.a;
    const auto form = [&](int i, int k) {
        double sum = 0;
        for (int p = 0; p < 3; ++p)
            for (int q = 0; q < 3; ++q) sum += a[i][p] * s[p][q] * a[k][q];
        return sum;
    };
    Sym2<double>& cov = t.projected.cov;
    cov = {form(0, 0), form(0, 1), form(1, 1)};
    t.projected.det = cov.xx * cov.yy - cov.xy * cov.xy;
}
/// gsplat's rule: its mean and all its points are seen, in the picture or a tenth of it beside.
GS_HD inline bool is_seen(const ProjectInput& in, const View& view,
                          const math::SigmaPoints<double, true>& points) {
    const double margin_x = 0.1 * in.width, margin_y = 0.1 * in.height;
    const auto inside = [&](Vec2<double> at) {
        return at.x >= -margin_x && at.x < in.width + margin_x && at.y >= -margin_y &&
               at.y < in.height + margin_y;
    };
    const Vec2<double> middle =
        points.middle.from_middle + Vec2<double>{view.lens.cx, view.lens.cy};
    bool all = points.middle.valid && inside(middle);
    for (int i = 0; i < 6; ++i) all = all && points.counted[i] && inside(middle + points.apart[i]);
    return all;
}
GS_HD inline void go_unscented(const ProjectInput& in, const View& view, std::size_t row,
                               Through& t) {
    t.projected = {};
    t.seen = t.c.z > in.near_plane && t.c.z < in.far_plane;
    if (!t.seen) return;
    t.trace =
        math::trace_unscented<true, double>(view, gsplat_weights(), vec3_at(in.means + 3 * row),
                                            vec3_at(in.scales + 3 * row), quat_at(in, row));
    t.projected = t.trace.projection;
    t.seen = is_seen(in, view, t.trace.points);
}
GS_HD inline void go_straight(const ProjectInput& in, const View& view, std::size_t row,
                              Through& t) {
    const Vec2<double> own = math::base_place(view.lens.base, t.c);
    t.at = math::bounded_place(view.lens, own);
    t.j = math::lens_jacobian_at(view.lens, t.c, t.at);
    t.projected.mean = math::to_pixels(view.lens, own);
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            t.footprint.a[i][k] = t.j.j[i][0] * view.rotation.m[0][k] +
                                  t.j.j[i][1] * view.rotation.m[1][k] +
                                  t.j.j[i][2] * view.rotation.m[2][k];
    if (in.covars != nullptr) {
        covariance_of_matrix(in.covars + 6 * row, t);
    } else {
        math::set_factors(t.footprint, quat_at(in, row));
        math::set_covariance(t.projected, t.footprint, vec3_at(in.scales + 3 * row));
    }
}
/// By how much blur spreads what it covers.
GS_HD inline double blur_compensation(const ProjectInput& in, const Through& t) {
    const double least = in.least_compensation;
    return std::sqrt(std::max(t.projected.det / t.conic.det, least * least));
}
GS_HD inline Through through(const ProjectInput& in, const View& view, std::size_t row) {
    Through t;
    t.c = view.rotation * vec3_at(in.means + 3 * row) + view.translation;
    if (in.unscented)
        go_unscented(in, view, row, t);
    else
        go_straight(in, view, row, t);
    t.projected.depth = t.c.z;
    const double blur = in.blur;
    t.conic = math::conic_of(t.projected.cov, t.projected.det, blur);
    t.compensation = in.antialiased ? blur_compensation(in, t) : 1;
    return t;
}

/// Half a side of its box, px; NaN stays NaN.
GS_HD inline double radius_of(double variance, double opacity) {
    constexpr double kMostSigmas = 3.33;
    return std::ceil(std::min(kMostSigmas, std::sqrt(2 * std::log(opacity / kLeastAlpha))) *
                     std::sqrt(variance));
}
/// False for NaN.
GS_HD inline bool is_drawn(const ProjectInput& in, const Through& t, double opacity,
                           Vec2<double> radius) {
    constexpr double kMostRadius = 1e9;
    const Vec2<double> mean = t.projected.mean;
    return t.seen && t.c.z > in.near_plane && t.c.z < in.far_plane && t.conic.det > 0 &&
           opacity >= kLeastAlpha && radius.x < kMostRadius && radius.y < kMostRadius &&
           std::max(radius.x, radius.y) > in.radius_clip && std::min(radius.x, radius.y) > 0 &&
           mean.x + radius.x > 0 && mean.x - radius.x < in.width && mean.y + radius.y > 0 &&
           mean.y - radius.y < in.height;
}

GS_HD inline void put(const ProjectOutput& out, std::size_t e, const Through& t, double opacity,
                      Vec2<double> radius) {
    out.radii[2 * e] = static_cast<std::int32_t>(radius.x);
    out.radii[2 * e + 1] = static_cast<std::int32_t>(radius.y);
    out.means2d[2 * e] = static_cast<float>(t.projected.mean.x);
    out.means2d[2 * e + 1] = static_cast<float>(t.projected.mean.y);
    out.depths[e] = static_cast<float>(t.c.z);
    out.conics[3 * e] = static_cast<float>(t.conic.inverse.xx);
    out.conics[3 * e + 1] = static_cast<float>(t.conic.inverse.xy);
    out.conics[3 * e + 2] = static_cast<float>(t.conic.inverse.yy);
    out.opacities[e] = static_cast<float>(opacity);
}
GS_HD inline void put_nothing(const ProjectOutput& out, std::size_t e) {
    out.radii[2 * e] = out.radii[2 * e + 1] = 0;
    out.depths[e] = out.opacities[e] = 0;
    out.means2d[2 * e] = out.means2d[2 * e + 1] = 0;
    for (std::size_t k = 0; k < 3; ++k) out.conics[3 * e + k] = 0;
}

GS_HD inline void project_entry(const ProjectInput& in, const View& view, std::size_t e,
                                const ProjectOutput& out) {
    const std::size_t row = row_of_entry(in.sizes, e);
    const Through t = through(in, view, row);
    const double raw = in.opacities[row], opacity = raw * t.compensation, blur = in.blur;
    // gsplat's boxes of this kind are for what antialiasing would leave, with or without it.
    const double boxed = in.unscented ? raw * blur_compensation(in, t) : opacity;
    const Vec2<double> radius{radius_of(t.projected.cov.xx + blur, boxed),
                              radius_of(t.projected.cov.yy + blur, boxed)};
    if (!is_drawn(in, t, boxed, radius)) return put_nothing(out, e);
    put(out, e, t, opacity, radius);
}

/// Sums of gradients of one row over the cameras.
struct RowSums {
    Vec3d mean, scale;
    Quatd quat{0, 0, 0, 0};
    double covar[6] = {}, opacity = 0;
};
GS_HD inline void add_quat(Quatd& to, Quatd q) {
    to = {to.w + q.w, to.x + q.x, to.y + q.y, to.z + q.z};
}
/// Of one view's matrix, three rows of four.
struct ViewSums {
    double m[12] = {};
};

GS_HD inline Sym2<double> covariance_seed(const ProjectInput& in, const Through& t,
                                          const ProjectSeeds& seeds, std::size_t e,
                                          double v_compensation) {
    const Sym2<double> cov = t.projected.cov;
    const double blur = in.blur;
    Sym2<double> v_conic{};
    if (seeds.conics != nullptr)
        v_conic = {seeds.conics[3 * e], seeds.conics[3 * e + 1], seeds.conics[3 * e + 2]};
    Sym2<double> v = math::conic_of_vjp(cov, t.projected.det, blur, v_conic, 0.0);
    const double ratio = t.projected.det / t.conic.det, least = in.least_compensation;
    if (!in.antialiased || !(ratio > least * least)) return v;
    const double v_ratio = 0.5 * v_compensation / t.compensation, of_det = v_ratio / t.conic.det,
                 of_blurred = -of_det * ratio;
    v.xx += of_det * cov.yy + of_blurred * (cov.yy + blur);
    v.yy += of_det * cov.xx + of_blurred * (cov.xx + blur);
    v.xy -= 2 * cov.xy * (of_det + of_blurred);
    return v;
}
/// Of d loss / d cov, cov = a sigma a^T: to sigma's upper triangle, and to a.
GS_HD inline void matrix_vjp(const Through& t, Sym2<double> v, double (&v_a)[2][3],
                             double (&v_covar)[6]) {
    const auto& a = t.footprint.a;
    double va[2][3];
    for (int k = 0; k < 3; ++k) {
        va[0][k] = v.xx * a[0][k] + 0.5 * v.xy * a[1][k];
        va[1][k] = 0.5 * v.xy * a[0][k] + v.yy * a[1][k];
    }
    int n = 0;
    for (int p = 0; p < 3; ++p)
        for (int q = p; q < 3; ++q, ++n)
            v_covar[n] += (p == q ? 1 : 2) * (a[0][p] * va[0][q] + a[1][p] * va[1][q]);
    for (int i = 0; i < 2; ++i)
        for (int q = 0; q < 3; ++q)
            v_a[i][q] = 2 * (va[i][0] * t.sigma[0][q] + va[i][1] * t.sigma[1][q] +
                             va[i][2] * t.sigma[2][q]);
}
/// To a, through scale and rotation or the covariance.
GS_HD inline void shape_vjp(const ProjectInput& in, const Through& t, std::size_t row,
                            Sym2<double> v_cov, double (&v_a)[2][3], RowSums& sums) {
    if (in.covars != nullptr) return matrix_vjp(t, v_cov, v_a, sums.covar);
    const math::FootprintGradients<double> g =
        math::covariance_vjp(t.footprint, vec3_at(in.scales + 3 * row), v_cov);
    for (int i = 0; i < 6; ++i) v_a[i / 3][i % 3] = g.a[i / 3][i % 3];
    sums.scale += Vec3d{g.scale[0], g.scale[1], g.scale[2]};
    add_quat(sums.quat, math::quat_to_rotation_vjp(quat_at(in, row), g.r));
}
/// Gradients of what one camera shows of one Gaussian.
struct EntrySeeds {
    Vec2<double> mean2d;
    Sym2<double> cov;
    double depth;
};
/// `matrix`: what moves an axis of the Gaussian, in world axes, by camera axis.
GS_HD inline void add_view(Vec3d v_c, const float* mean, const double (&matrix)[3][3],
                           ViewSums& sums) {
    const double along[3] = {v_c.x, v_c.y, v_c.z};
    for (int k = 0; k < 3; ++k) {
        for (int j = 0; j < 3; ++j) sums.m[4 * k + j] += along[k] * mean[j] + matrix[k][j];
        sums.m[4 * k + 3] += along[k];
    }
}
/// All its points count, for else it is not seen. `v_view`, here and below: null: not wanted.
GS_HD inline void unscented_vjp(const ProjectInput& in, const View& view, const Through& t,
                                std::size_t row, const EntrySeeds& v, RowSums& sums,
                                ViewSums* v_view) {
    const Vec3d scale = vec3_at(in.scales + 3 * row);
    const auto g = math::unscented_vjp(view, t.trace, gsplat_weights(), scale, quat_at(in, row),
                                       v.mean2d, v.cov, v.depth);
    sums.mean += g.mean;
    sums.scale += g.scale;
    add_quat(sums.quat, g.quat);
    if (v_view == nullptr || view.shutter.on) return;
    const math::SigmaPoints<double, true>& points = t.trace.points;
    const auto of_columns =
        math::sigma_columns_vjp(t.trace.columns, gsplat_weights(), v.mean2d, v.cov);
    const auto& at = of_columns.at;
    const double s[3] = {scale.x, scale.y, scale.z};
    double matrix[3][3] = {};
    for (int k = 0; k < 3; ++k) {
        const math::SigmaSlope<double>&ahead = points.slope[k], &behind = points.slope[k + 3];
        const Vec3d by = view.rotation * (at[k].x * ahead.u + at[k].y * ahead.v -
                                          at[k + 3].x * behind.u - at[k + 3].y * behind.v);
        const double along[3] = {by.x, by.y, by.z};
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                matrix[i][j] +=
                    gsplat_weights().spread * s[k] * along[i] * points.straight.r.m[j][k];
    }
    add_view(view.rotation * g.mean, in.means + 3 * row, matrix, *v_view);
}
GS_HD inline void straight_vjp(const ProjectInput& in, const View& view, const Through& t,
                               std::size_t row, const EntrySeeds& v, RowSums& sums,
                               ViewSums* v_view) {
    double v_a[2][3], v_j[2][3], matrix[3][3];
    shape_vjp(in, t, row, v.cov, v_a, sums);
    const auto& r = view.rotation.m;
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            v_j[i][k] = v_a[i][0] * r[k][0] + v_a[i][1] * r[k][1] + v_a[i][2] * r[k][2];
    Vec3d v_c = math::lens_vjp_at(view.lens, t.c, t.at, v.mean2d, v_j);
    v_c.z += v.depth;
    sums.mean += transpose(view.rotation) * v_c;
    if (v_view == nullptr) return;
    for (int k = 0; k < 3; ++k)
        for (int j = 0; j < 3; ++j)
            matrix[k][j] = t.j.j[0][k] * v_a[0][j] + t.j.j[1][k] * v_a[1][j];
    add_view(v_c, in.means + 3 * row, matrix, *v_view);
}
GS_HD inline void entry_vjp(const ProjectInput& in, const View& view, std::size_t row,
                            std::size_t e, const ProjectSeeds& seeds, RowSums& sums,
                            ViewSums* v_view) {
    const Through t = through(in, view, row);
    if (!t.seen) return;  // whatever the radii say
    const double v_opacity = seeds.opacities != nullptr ? seeds.opacities[e] : 0;
    sums.opacity += v_opacity * t.compensation;
    EntrySeeds v{};
    v.cov = covariance_seed(in, t, seeds, e, v_opacity * static_cast<double>(in.opacities[row]));
    if (seeds.means2d != nullptr) v.mean2d = {seeds.means2d[2 * e], seeds.means2d[2 * e + 1]};
    if (seeds.depths != nullptr) v.depth = seeds.depths[e];
    if (in.unscented)
        unscented_vjp(in, view, t, row, v, sums, v_view);
    else
        straight_vjp(in, view, t, row, v, sums, v_view);
}

GS_HD inline void put_row(const ProjectGradients& out, std::size_t row, const RowSums& s) {
    const auto put_all = [&](float* to, std::initializer_list<double> values) {
        if (to == nullptr) return;
        to += row * values.size();
        for (const double value : values) *to++ = static_cast<float>(value);
    };
    put_all(out.means, {s.mean.x, s.mean.y, s.mean.z});
    put_all(out.scales, {s.scale.x, s.scale.y, s.scale.z});
    put_all(out.quats, {s.quat.w, s.quat.x, s.quat.y, s.quat.z});
    put_all(out.covars, {s.covar[0], s.covar[1], s.covar[2], s.covar[3], s.covar[4], s.covar[5]});
    put_all(out.opacities, {s.opacity});
}

}  // namespace gs::tensor
