#include "renderer/io/captures/random_points.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "renderer/scene/lost_views.h"

namespace gs {
namespace {

double determinant(const Mat3d& a) {
    const auto& m = a.m;
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

// Cramer's rule.
Vec3d solve(const Mat3d& a, Vec3d b, double det) {
    Vec3d out;
    double* const parts[3] = {&out.x, &out.y, &out.z};
    for (int column = 0; column < 3; ++column) {
        Mat3d m = a;
        m.m[0][column] = b.x;
        m.m[1][column] = b.y;
        m.m[2][column] = b.z;
        *parts[column] = determinant(m) / det;
    }
    return out;
}

}  // namespace

Box box_from_cameras(const std::vector<View>& views) {
    // The point closest to all axes: sum (I - d d^T) (p - eye) = 0.
    Mat3d a;
    Vec3d b, mean, forward;
    const std::vector<std::uint8_t> lost = lost_views(views, {}, false);
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < views.size(); ++i)
        if (lost[i] == 0) used.push_back(i);
    const double n = static_cast<double>(std::max<std::size_t>(used.size(), 1));
    for (const std::size_t i : used) {
        const View& view = views[i];
        const Vec3d d = view.camera.forward(), eye = view.camera.position();
        const double v[3] = {d.x, d.y, d.z};
        Mat3d projector;
        for (int row = 0; row < 3; ++row)
            for (int j = 0; j < 3; ++j) {
                projector.m[row][j] = (row == j ? 1.0 : 0.0) - v[row] * v[j];
                a.m[row][j] += projector.m[row][j] / n;
            }
        b += (1 / n) * (projector * eye);
        mean += (1 / n) * eye;
        forward += (1 / n) * d;
    }
    double extent = 0;
    for (const std::size_t i : used) {
        const Vec3d d = views[i].camera.position() - mean;
        extent = std::max(extent, std::sqrt(dot(d, d)));
    }
    if (!(extent > 1e-9)) extent = 1;
    Vec3d centre = mean + extent * forward;
    // Nearly parallel axes meet nowhere useful: stay in front of the cameras then, and whenever the
    // meeting point is behind.
    if (const double det = determinant(a); det > 1e-4) {
        const Vec3d meeting = solve(a, b, det);
        const Vec3d d = meeting - mean;
        if (dot(d, forward) >= 0 && std::sqrt(dot(d, d)) < 20 * extent) centre = meeting;
    }
    double half = 0;
    for (const std::size_t i : used) {
        const Vec3d d = views[i].camera.position() - centre;
        half = std::max(half, std::sqrt(dot(d, d)));
    }
    if (!(half > 1e-9)) half = 1;
    return {centre - Vec3d{half, half, half}, centre + Vec3d{half, half, half}};
}

std::vector<SparsePoint> random_points(const Box& box, std::size_t count, std::uint64_t seed) {
    constexpr std::uint64_t kStream = 0x706f696e7473;  // "points"
    std::vector<SparsePoint> out(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto along = [&](std::uint64_t axis, double lo, double hi) {
            return static_cast<float>(
                lo + (hi - lo) * static_cast<double>(random_uniform(seed, kStream, 3 * i + axis)));
        };
        out[i].position = {along(0, box.lo.x, box.hi.x), along(1, box.lo.y, box.hi.y),
                           along(2, box.lo.z, box.hi.z)};
    }
    return out;
}

}  // namespace gs
