// One Gaussian's colour of flat arrays of spherical harmonics, and its gradients back, in double:
// what the loops of cpu/tensor_shade.cpp and the kernels of cuda/tensor_shade.cu both do. Host and
// device.
#pragma once

#include "renderer/math/sh.h"
#include "renderer/raster/tensor_ops.h"

namespace gs::tensor {

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
GS_HD inline Centre centre_of(const float* m) {
    const Vec3d x{m[0], m[1], m[2]}, y{m[4], m[5], m[6]}, z{m[8], m[9], m[10]};
    const double over = 1 / dot(x, cross(y, z));
    const Vec3d a = over * cross(y, z), b = over * cross(z, x), c = over * cross(x, y);
    Centre out{{{{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}}}, {}};
    out.at = -(out.inverse * Vec3d{m[3], m[7], m[11]});
    return out;
}
GS_HD inline void put_view(const Centre& centre, Vec3d v_at, float* to) {
    const Vec3d v = -(transpose(centre.inverse) * v_at);
    const double rows[3] = {v.x, v.y, v.z}, columns[4] = {centre.at.x, centre.at.y, centre.at.z, 1};
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 4; ++j)
            to[4 * i + j] = static_cast<float>(rows[i] * columns[j]);
    for (int i = 12; i < 16; ++i) to[i] = 0;
}

GS_HD inline std::size_t bases_of(int degree) {
    return static_cast<std::size_t>((degree + 1) * (degree + 1));
}
GS_HD inline Shaded shaded(const ShadeInput& in, std::size_t row, Vec3d centre, std::size_t e) {
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
GS_HD inline bool is_seen(const ShadeInput& in, std::size_t e) {
    return in.radii[2 * e] > 0 && in.radii[2 * e + 1] > 0;
}

GS_HD inline void shade_entry(const ShadeInput& in, Vec3d centre, std::size_t e, float* colors) {
    const bool seen = is_seen(in, e);
    Shaded s{};
    if (seen) s = shaded(in, row_of_entry(in.sizes, e), centre, e);
    for (std::size_t k = 0; k < 3; ++k)  // NaN stays
        colors[3 * e + k] = !seen || s.raw[k] < 0 ? 0.0f : static_cast<float>(s.raw[k]);
}

/// Adds to the coefficients' gradients; returns that of the ray.
GS_HD inline Vec3d shaded_vjp(const ShadeInput& in, const Shaded& s, const float* v_color,
                              double* v_sh) {
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
GS_HD inline void put_coefficients(const ShadeInput& in, const double* v, float* to) {
    const std::size_t used = 3 * bases_of(in.degree);
    for (std::size_t k = 0; k < used; ++k) to[k] = static_cast<float>(v[k]);
    for (std::size_t k = used; k < 3 * in.bases; ++k) to[k] = 0;
}
GS_HD inline void put_mean(const ShadeGradients& out, std::size_t row, Vec3d v_mean) {
    if (out.means == nullptr) return;
    const double v[3] = {v_mean.x, v_mean.y, v_mean.z};
    for (std::size_t k = 0; k < 3; ++k) out.means[3 * row + k] = static_cast<float>(v[k]);
}

}  // namespace gs::tensor
