#include "renderer/reference/sh.h"

#include <algorithm>
#include <cmath>

namespace gs::reference {
namespace {

// Normalisations of the real spherical harmonics by degree and order.
const double kPi = std::acos(-1.0);
const double k0 = std::sqrt(1 / (4 * kPi)), k1 = std::sqrt(3 / (4 * kPi));
const double k2xy = std::sqrt(15 / (4 * kPi)), k2z = std::sqrt(5 / (16 * kPi)),
             k2xx = std::sqrt(15 / (16 * kPi));
const double k3a = std::sqrt(35 / (32 * kPi)), k3b = std::sqrt(105 / (4 * kPi)),
             k3c = std::sqrt(21 / (32 * kPi));
const double k3d = std::sqrt(7 / (16 * kPi)), k3e = std::sqrt(105 / (16 * kPi));

Vec3d direction_to(const Parameters& scene, std::size_t i, Vec3d eye, double& distance) {
    const Vec3d v =
        Vec3d{scene.at(kMeans, i), scene.at(kMeans + 1, i), scene.at(kMeans + 2, i)} - eye;
    distance = std::sqrt(dot(v, v));
    return (1 / distance) * v;
}

int bases_used(const Parameters& scene, const Options& options) {
    return sh_bases(std::min(scene.sh_degree, options.sh_degree));
}

}  // namespace

std::array<double, 16> sh_basis(Vec3d d) {
    const double x = d.x, y = d.y, z = d.z;
    return {k0,
            -k1 * y,
            k1 * z,
            -k1 * x,
            k2xy * x * y,
            -k2xy * y * z,
            k2z * (2 * z * z - x * x - y * y),
            -k2xy * x * z,
            k2xx * (x * x - y * y),
            -k3a * y * (3 * x * x - y * y),
            k3b * x * y * z,
            -k3c * y * (4 * z * z - x * x - y * y),
            k3d * z * (2 * z * z - 3 * x * x - 3 * y * y),
            -k3c * x * (4 * z * z - x * x - y * y),
            k3e * z * (x * x - y * y),
            -k3a * x * (x * x - 3 * y * y)};
}

std::array<Vec3d, 16> sh_basis_slopes(Vec3d d) {
    const double x = d.x, y = d.y, z = d.z;
    return {Vec3d{0, 0, 0},
            {0, -k1, 0},
            {0, 0, k1},
            {-k1, 0, 0},
            {k2xy * y, k2xy * x, 0},
            {0, -k2xy * z, -k2xy * y},
            {-2 * k2z * x, -2 * k2z * y, 4 * k2z * z},
            {-k2xy * z, 0, -k2xy * x},
            {2 * k2xx * x, -2 * k2xx * y, 0},
            {-6 * k3a * x * y, -k3a * (3 * x * x - 3 * y * y), 0},
            {k3b * y * z, k3b * x * z, k3b * x * y},
            {2 * k3c * x * y, -k3c * (4 * z * z - x * x - 3 * y * y), -8 * k3c * y * z},
            {-6 * k3d * x * z, -6 * k3d * y * z, k3d * (6 * z * z - 3 * x * x - 3 * y * y)},
            {-k3c * (4 * z * z - 3 * x * x - y * y), 2 * k3c * x * y, -8 * k3c * x * z},
            {2 * k3e * x * z, -2 * k3e * y * z, k3e * (x * x - y * y)},
            {-k3a * (3 * x * x - 3 * y * y), 6 * k3a * x * y, 0}};
}

Vec3d color_behind(const CameraRay& ray, const Options& options) {
    if (options.sky.empty() || !ray.valid) return options.background;
    const auto basis = sh_basis(ray.direction);
    double sum[3] = {0.5, 0.5, 0.5};
    for (std::size_t k = 0; k < static_cast<std::size_t>(sh_bases(options.sky.degree)); ++k)
        for (std::size_t c = 0; c < 3; ++c)
            sum[c] += basis[k] * static_cast<double>(options.sky.sh[3 * k + c]);
    return {std::max(sum[0], 0.0), std::max(sum[1], 0.0), std::max(sum[2], 0.0)};
}

void color_behind_backward(const CameraRay& ray, const Options& options, Vec3d v_color,
                           std::array<double, Sky::kNumbers>& gradient) {
    if (options.sky.empty() || !ray.valid) return;
    const Vec3d color = color_behind(ray, options);
    const double v[3] = {color.x > 0 ? v_color.x : 0, color.y > 0 ? v_color.y : 0,
                         color.z > 0 ? v_color.z : 0};
    const auto basis = sh_basis(ray.direction);
    for (std::size_t k = 0; k < static_cast<std::size_t>(sh_bases(options.sky.degree)); ++k)
        for (std::size_t c = 0; c < 3; ++c) gradient[3 * k + c] += basis[k] * v[c];
}

Vec3d color_of(const Parameters& scene, std::size_t i, Vec3d eye, const Options& options) {
    double distance = 0;
    const auto basis = sh_basis(direction_to(scene, i, eye, distance));
    double sum[3] = {0.5, 0.5, 0.5};
    for (int k = 0; k < bases_used(scene, options); ++k)
        for (int c = 0; c < 3; ++c)
            sum[c] += (k == 0 ? k0 : basis[static_cast<std::size_t>(k)]) * scene.sh(k, c, i);
    // Non-finite values must survive the clamp: the caller drops such a Gaussian.
    for (double& s : sum) s = s < 0 && std::isfinite(s) ? 0 : s;
    return {sum[0], sum[1], sum[2]};
}

void color_backward(const Parameters& scene, std::size_t i, Vec3d eye, const Options& options,
                    Vec3d v_color, Parameters& gradients) {
    const Vec3d color = color_of(scene, i, eye, options);
    const double clamped[3] = {color.x, color.y, color.z};
    double v[3] = {v_color.x, v_color.y, v_color.z};
    for (int c = 0; c < 3; ++c)
        if (clamped[c] <= 0) v[c] = 0;
    double distance = 0;
    const Vec3d direction = direction_to(scene, i, eye, distance);
    const auto basis = sh_basis(direction);
    const auto slopes = sh_basis_slopes(direction);
    Vec3d v_direction{0, 0, 0};
    for (int k = 0; k < bases_used(scene, options); ++k)
        for (int c = 0; c < 3; ++c) {
            gradients.sh(k, c, i) += basis[static_cast<std::size_t>(k)] * v[c];
            v_direction += (v[c] * scene.sh(k, c, i)) * slopes[static_cast<std::size_t>(k)];
        }
    if (options.detach_direction) return;
    // direction = v / |v|: only the part across it counts.
    const Vec3d v_mean = (1 / distance) * (v_direction - dot(direction, v_direction) * direction);
    gradients.at(kMeans, i) += v_mean.x;
    gradients.at(kMeans + 1, i) += v_mean.y;
    gradients.at(kMeans + 2, i) += v_mean.z;
}

}  // namespace gs::reference
