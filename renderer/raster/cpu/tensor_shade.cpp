// Colours of flat arrays of spherical harmonics, in double.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "renderer/math/sh.h"
#include "renderer/raster/tensor_ops.h"

namespace gs::tensor {
namespace {

constexpr std::size_t kShadePart = 256;  ///< Gaussians of one task

/// One Gaussian's colour as a camera sees it.
struct Shaded {
    Vec3d ray, direction;
    double basis[16];
    double raw[3];  ///< SH + 0.5
    const float* coefficients;
};
/// Where a camera is: -R^-1 t.
struct Centre {
    Mat3d inverse;  ///< of its rotation, which callers may have made anything
    Vec3d at;
};
Centre centre_of(const float* m) {
    const Vec3d x{m[0], m[1], m[2]}, y{m[4], m[5], m[6]}, z{m[8], m[9], m[10]};
    const double over = 1 / dot(x, cross(y, z));
    const Vec3d a = over * cross(y, z), b = over * cross(z, x), c = over * cross(x, y);
    Centre out{{{{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}}}, {}};
    out.at = -(out.inverse * Vec3d{m[3], m[7], m[11]});
    return out;
}
std::vector<Centre> centres_of(const ShadeInput& in) {
    std::vector<Centre> out;
    for (std::size_t view = 0; view < in.sizes.views(); ++view)
        out.push_back(centre_of(in.viewmats + 16 * view));
    return out;
}
void put_view(const Centre& centre, Vec3d v_at, float* to) {
    const Vec3d v = -(transpose(centre.inverse) * v_at);
    const double rows[3] = {v.x, v.y, v.z}, columns[4] = {centre.at.x, centre.at.y, centre.at.z, 1};
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 4; ++j)
            to[4 * i + j] = static_cast<float>(rows[i] * columns[j]);
    std::fill_n(to + 12, 4, 0.0f);
}

std::size_t bases_of(int degree) { return static_cast<std::size_t>((degree + 1) * (degree + 1)); }
Shaded shaded(const ShadeInput& in, std::size_t row, Vec3d centre, std::size_t e) {
    Shaded s;
    const float* mean = in.means + 3 * row;
    s.ray = Vec3d{mean[0], mean[1], mean[2]} - centre;
    s.direction = dot(s.ray, s.ray) > 0 ? math::normalize(s.ray) : Vec3d{};
    math::sh_basis(in.degree, s.direction, s.basis);
    s.coefficients = in.coefficients + (in.by_view ? e : row) * in.bases * 3;
    for (std::size_t channel = 0; channel < 3; ++channel) {
        s.raw[channel] = 0.5;
        for (std::size_t k = 0; k < bases_of(in.degree); ++k)
            s.raw[channel] += s.basis[k] * s.coefficients[3 * k + channel];
    }
    return s;
}
bool is_seen(const ShadeInput& in, std::size_t e) {
    return in.radii[2 * e] > 0 && in.radii[2 * e + 1] > 0;
}

/// Adds to the coefficients' gradients; returns that of the ray.
Vec3d shaded_vjp(const ShadeInput& in, const Shaded& s, const float* v_color, double* v_sh) {
    double v[3], v_basis[16];
    for (int channel = 0; channel < 3; ++channel)
        v[channel] = s.raw[channel] >= 0 ? v_color[channel] : 0;
    for (std::size_t k = 0; k < bases_of(in.degree); ++k) {
        v_basis[k] = 0;
        for (std::size_t channel = 0; channel < 3; ++channel) {
            v_basis[k] += v[channel] * s.coefficients[3 * k + channel];
            v_sh[3 * k + channel] += v[channel] * s.basis[k];
        }
    }
    if (!(dot(s.ray, s.ray) > 0)) return {};
    return math::normalize_vjp(s.ray, math::sh_basis_vjp(in.degree, s.direction, v_basis));
}
void put_coefficients(const ShadeInput& in, const double* v, float* to) {
    const std::size_t used = 3 * bases_of(in.degree);
    for (std::size_t k = 0; k < used; ++k) to[k] = static_cast<float>(v[k]);
    std::fill(to + used, to + 3 * in.bases, 0.0f);
}

/// One Gaussian through all cameras of its batch; `v_centres` [camera] are added to.
void row_vjp(const ShadeInput& in, const std::vector<Centre>& centres, std::size_t batch,
             std::size_t i, const float* v_colors, const ShadeGradients& out, Vec3d* v_centres) {
    const std::size_t n = in.sizes.gaussians, cameras = in.sizes.cameras, row = batch * n + i;
    double v_sh[48] = {};
    Vec3d v_mean{};
    for (std::size_t camera = 0; camera < cameras; ++camera) {
        const std::size_t view = batch * cameras + camera, e = view * n + i;
        if (in.by_view) std::fill(std::begin(v_sh), std::end(v_sh), 0.0);
        if (is_seen(in, e)) {
            const Vec3d v_ray =
                shaded_vjp(in, shaded(in, row, centres[view].at, e), v_colors + 3 * e, v_sh);
            v_mean += v_ray;
            v_centres[camera] += -v_ray;
        }
        if (in.by_view && out.coefficients != nullptr)
            put_coefficients(in, v_sh, out.coefficients + e * in.bases * 3);
    }
    if (!in.by_view && out.coefficients != nullptr)
        put_coefficients(in, v_sh, out.coefficients + row * in.bases * 3);
    if (out.means == nullptr) return;
    const double v[3] = {v_mean.x, v_mean.y, v_mean.z};
    for (std::size_t k = 0; k < 3; ++k) out.means[3 * row + k] = static_cast<float>(v[k]);
}

}  // namespace

void shade(const ShadeInput& in, float* colors) {
    const std::vector<Centre> centres = centres_of(in);
    const std::size_t n = in.sizes.gaussians;
    parallel_for(in.sizes.entries(), kShadePart, [&](std::size_t e) {
        float* to = colors + 3 * e;
        std::fill_n(to, 3, 0.0f);
        if (!is_seen(in, e)) return;
        const std::size_t view = e / n, row = view / in.sizes.cameras * n + e % n;
        const Shaded s = shaded(in, row, centres[view].at, e);
        for (int k = 0; k < 3; ++k)  // NaN stays
            to[k] = s.raw[k] < 0 ? 0.0f : static_cast<float>(s.raw[k]);
    });
}

void shade_vjp(const ShadeInput& in, const float* v_colors, const ShadeGradients& out) {
    const std::size_t n = in.sizes.gaussians, cameras = in.sizes.cameras,
                      parts = (n + kShadePart - 1) / kShadePart;
    const std::vector<Centre> centres = centres_of(in);
    std::vector<Vec3d> sums(in.sizes.batches * parts * cameras);  // [batch][part][camera]
    parallel_for(in.sizes.batches * parts, 1, [&](std::size_t task) {
        const std::size_t begin = task % parts * kShadePart;
        for (std::size_t i = begin; i < std::min(n, begin + kShadePart); ++i)
            row_vjp(in, centres, task / parts, i, v_colors, out, &sums[task * cameras]);
    });
    if (out.viewmats == nullptr) return;
    for (std::size_t view = 0; view < in.sizes.views(); ++view) {
        Vec3d sum{};
        for (std::size_t part = 0; part < parts; ++part)
            sum += sums[(view / cameras * parts + part) * cameras + view % cameras];
        put_view(centres[view], sum, out.viewmats + 16 * view);
    }
}

}  // namespace gs::tensor
