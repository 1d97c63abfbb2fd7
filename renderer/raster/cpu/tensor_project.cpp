// Projection of flat arrays, in double: one Gaussian at a time through every camera, so that sums
// over cameras need no atomics. Sums over Gaussians go by parts whose size is fixed.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "renderer/math/lens.h"
#include "renderer/math/project.h"
#include "renderer/raster/tensor_ops.h"

namespace gs::tensor {
namespace {

constexpr double kLeastAlpha = 1.0 / 255, kMostSigmas = 3.33;
constexpr std::size_t kPart = 256;  ///< Gaussians of one task

struct View {
    Mat3d rotation;
    Vec3d translation;
    math::Lens<double> lens;
};
View view_of(const ProjectInput& in, std::size_t index) {
    const float *m = in.viewmats + 16 * index, *k = in.Ks + 9 * index;
    View v{};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) v.rotation.m[i][j] = m[4 * i + j];
    v.translation = {m[3], m[7], m[11]};
    math::Lens<double>& lens = v.lens;
    lens.base = in.lens;
    lens.fx = k[0], lens.cx = k[2], lens.fy = k[4], lens.cy = k[5];
    lens.mix[0][0] = lens.mix[1][1] = 1;
    // As make_pinhole.
    const double margin_x = 0.15 * in.width / lens.fx, margin_y = 0.15 * in.height / lens.fy;
    lens.a_lo = -lens.cx / lens.fx - margin_x;
    lens.a_hi = (in.width - lens.cx) / lens.fx + margin_x;
    lens.b_lo = -lens.cy / lens.fy - margin_y;
    lens.b_hi = (in.height - lens.cy) / lens.fy + margin_y;
    return v;
}
std::vector<View> views_of(const ProjectInput& in) {
    std::vector<View> views;
    for (std::size_t i = 0; i < in.sizes.views(); ++i) views.push_back(view_of(in, i));
    return views;
}

Vec3d vec3_at(const float* p) { return {p[0], p[1], p[2]}; }
Quatd quat_at(const ProjectInput& in, std::size_t row) {
    const float* q = in.quats + 4 * row;
    return {q[0], q[1], q[2], q[3]};
}

/// One Gaussian through one camera.
struct Through {
    Vec3d c;          ///< mean in camera axes
    Vec2<double> at;  ///< the place that the Jacobian is of
    math::Jacobian<double> j;
    math::Footprint<double> footprint;  ///< of covars: a alone
    double sigma[3][3];                 ///< of covars
    math::Projection<double> projected;
    math::Conic<double> conic;
    double compensation;  ///< 1 unless antialiased
};
void covariance_of_matrix(const float* v, Through& t) {
    const double s[3][3] = {{v[0], v[1], v[2]}, {v[1], v[3], v[4]}, {v[2], v[4], v[5]}};
    std::copy_n(&s[0][0], 9, &t.sigma[0][0]);
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
Through through(const ProjectInput& in, const View& view, std::size_t row) {
    Through t;
    t.c = view.rotation * vec3_at(in.means + 3 * row) + view.translation;
    const Vec2<double> own = math::base_place(view.lens.base, t.c);
    t.at = math::bounded_place(view.lens, own);
    t.j = math::lens_jacobian_at(view.lens, t.c, t.at);
    t.projected.depth = t.c.z;
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
    const double blur = in.blur;
    t.conic = math::conic_of(t.projected.cov, t.projected.det, blur);
    const double least = in.least_compensation;
    t.compensation =
        in.antialiased ? std::sqrt(std::max(t.projected.det / t.conic.det, least * least)) : 1;
    return t;
}

/// Half a side of its box, px; NaN stays NaN.
double radius_of(double variance, double opacity) {
    return std::ceil(std::min(kMostSigmas, std::sqrt(2 * std::log(opacity / kLeastAlpha))) *
                     std::sqrt(variance));
}
/// False for NaN.
bool is_drawn(const ProjectInput& in, const Through& t, double opacity, Vec2<double> radius) {
    constexpr double kMostRadius = 1e9;
    const Vec2<double> mean = t.projected.mean;
    return t.c.z > in.near_plane && t.c.z < in.far_plane && t.conic.det > 0 &&
           opacity >= kLeastAlpha && radius.x < kMostRadius && radius.y < kMostRadius &&
           std::max(radius.x, radius.y) > in.radius_clip && std::min(radius.x, radius.y) > 0 &&
           mean.x + radius.x > 0 && mean.x - radius.x < in.width && mean.y + radius.y > 0 &&
           mean.y - radius.y < in.height;
}

void put(const ProjectOutput& out, std::size_t e, const Through& t, double opacity,
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
void put_nothing(const ProjectOutput& out, std::size_t e) {
    out.radii[2 * e] = out.radii[2 * e + 1] = 0;
    out.depths[e] = out.opacities[e] = 0;
    std::fill_n(out.means2d + 2 * e, 2, 0.0f);
    std::fill_n(out.conics + 3 * e, 3, 0.0f);
}

/// Sums of gradients of one row over the cameras.
struct RowSums {
    Vec3d mean, scale;
    Quatd quat{0, 0, 0, 0};
    double covar[6] = {}, opacity = 0;
};
/// Of one view's matrix, three rows of four.
using ViewSums = std::array<double, 12>;

Sym2<double> covariance_seed(const ProjectInput& in, const Through& t, const ProjectSeeds& seeds,
                             std::size_t e, double v_compensation) {
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
void matrix_vjp(const Through& t, Sym2<double> v, double (&v_a)[2][3], double (&v_covar)[6]) {
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
void shape_vjp(const ProjectInput& in, const Through& t, std::size_t row, Sym2<double> v_cov,
               double (&v_a)[2][3], RowSums& sums) {
    if (in.covars != nullptr) return matrix_vjp(t, v_cov, v_a, sums.covar);
    const math::FootprintGradients<double> g =
        math::covariance_vjp(t.footprint, vec3_at(in.scales + 3 * row), v_cov);
    std::copy_n(&g.a[0][0], 6, &v_a[0][0]);
    sums.scale += Vec3d{g.scale[0], g.scale[1], g.scale[2]};
    const Quatd q = math::quat_to_rotation_vjp(quat_at(in, row), g.r);
    sums.quat = {sums.quat.w + q.w, sums.quat.x + q.x, sums.quat.y + q.y, sums.quat.z + q.z};
}
void entry_vjp(const ProjectInput& in, const View& view, std::size_t row, std::size_t e,
               const ProjectSeeds& seeds, RowSums& sums, ViewSums& v_view) {
    const Through t = through(in, view, row);
    const double v_opacity = seeds.opacities != nullptr ? seeds.opacities[e] : 0;
    sums.opacity += v_opacity * t.compensation;
    const Sym2<double> v_cov =
        covariance_seed(in, t, seeds, e, v_opacity * static_cast<double>(in.opacities[row]));
    double v_a[2][3], v_j[2][3];
    shape_vjp(in, t, row, v_cov, v_a, sums);
    const auto& r = view.rotation.m;
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            v_j[i][k] = v_a[i][0] * r[k][0] + v_a[i][1] * r[k][1] + v_a[i][2] * r[k][2];
    Vec2<double> v_mean2d{};
    if (seeds.means2d != nullptr) v_mean2d = {seeds.means2d[2 * e], seeds.means2d[2 * e + 1]};
    Vec3d v_c = math::lens_vjp_at(view.lens, t.c, t.at, v_mean2d, v_j);
    if (seeds.depths != nullptr) v_c.z += seeds.depths[e];
    sums.mean += transpose(view.rotation) * v_c;
    const float* mean = in.means + 3 * row;
    const double along[3] = {v_c.x, v_c.y, v_c.z};
    for (int k = 0; k < 3; ++k) {
        for (int j = 0; j < 3; ++j)
            v_view[4 * k + j] +=
                along[k] * mean[j] + t.j.j[0][k] * v_a[0][j] + t.j.j[1][k] * v_a[1][j];
        v_view[4 * k + 3] += along[k];
    }
}

void put_row(const ProjectGradients& out, std::size_t row, const RowSums& s) {
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

}  // namespace

void project(const ProjectInput& in, const ProjectOutput& out) {
    const std::vector<View> views = views_of(in);
    const std::size_t n = in.sizes.gaussians;
    parallel_for(in.sizes.entries(), kPart, [&](std::size_t e) {
        const std::size_t view = e / n, row = view / in.sizes.cameras * n + e % n;
        const Through t = through(in, views[view], row);
        const double opacity = static_cast<double>(in.opacities[row]) * t.compensation,
                     blur = in.blur;
        const Vec2<double> radius{radius_of(t.projected.cov.xx + blur, opacity),
                                  radius_of(t.projected.cov.yy + blur, opacity)};
        if (!is_drawn(in, t, opacity, radius)) return put_nothing(out, e);
        put(out, e, t, opacity, radius);
    });
}

void project_vjp(const ProjectInput& in, const std::int32_t* radii, const ProjectSeeds& seeds,
                 const ProjectGradients& out) {
    const std::vector<View> views = views_of(in);
    const std::size_t n = in.sizes.gaussians, cameras = in.sizes.cameras,
                      parts = (n + kPart - 1) / kPart;
    // [batch][part][camera]
    std::vector<ViewSums> sums(in.sizes.batches * parts * cameras);
    parallel_for(in.sizes.batches * parts, 1, [&](std::size_t task) {
        const std::size_t batch = task / parts, begin = task % parts * kPart;
        for (std::size_t i = begin; i < std::min(n, begin + kPart); ++i) {
            RowSums row_sums;
            const std::size_t row = batch * n + i;
            for (std::size_t camera = 0; camera < cameras; ++camera) {
                const std::size_t view = batch * cameras + camera, e = view * n + i;
                if (radii[2 * e] > 0 && radii[2 * e + 1] > 0)
                    entry_vjp(in, views[view], row, e, seeds, row_sums,
                              sums[task * cameras + camera]);
            }
            put_row(out, row, row_sums);
        }
    });
    if (out.viewmats == nullptr) return;
    for (std::size_t view = 0; view < in.sizes.views(); ++view) {
        float* to = out.viewmats + 16 * view;
        std::fill_n(to, 16, 0.0f);
        const std::size_t batch = view / cameras, camera = view % cameras;
        for (int k = 0; k < 12; ++k) {
            double sum = 0;
            for (std::size_t part = 0; part < parts; ++part)
                sum += sums[(batch * parts + part) * cameras + camera][k];
            to[k] = static_cast<float>(sum);
        }
    }
}

}  // namespace gs::tensor
