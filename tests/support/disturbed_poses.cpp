#include "tests/support/disturbed_poses.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/rng.h"
#include "renderer/math/symmetric.h"

namespace gs {
namespace {

double normal(std::uint64_t seed, std::uint64_t view, std::uint64_t i) {
    const double u = 1 - static_cast<double>(random_uniform(seed, view, 2 * i)),
                 v = static_cast<double>(random_uniform(seed, view, 2 * i + 1));
    return std::sqrt(-2 * std::log(std::max(u, 1e-12))) * std::cos(2 * std::numbers::pi * v);
}
Vec3d three(std::uint64_t seed, std::uint64_t view, std::uint64_t first) {
    return {normal(seed, view, first), normal(seed, view, first + 1),
            normal(seed, view, first + 2)};
}

Vec3d mean_centre(const std::vector<Camera>& cameras) {
    Vec3d sum{};
    for (const Camera& c : cameras) sum += c.position();
    return (1 / static_cast<double>(cameras.size())) * sum;
}

/// The rotation that brings the arms `from` nearest to `to`.
Mat3d turn_between(const std::vector<Vec3d>& from, const std::vector<Vec3d>& to) {
    double s[3][3] = {};
    for (std::size_t i = 0; i < from.size(); ++i) {
        const double a[3] = {from[i].x, from[i].y, from[i].z}, b[3] = {to[i].x, to[i].y, to[i].z};
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) s[r][c] += a[r] * b[c];
    }
    math::Square<4> n{
        {{s[0][0] + s[1][1] + s[2][2], s[1][2] - s[2][1], s[2][0] - s[0][2], s[0][1] - s[1][0]},
         {s[1][2] - s[2][1], s[0][0] - s[1][1] - s[2][2], s[0][1] + s[1][0], s[2][0] + s[0][2]},
         {s[2][0] - s[0][2], s[0][1] + s[1][0], s[1][1] - s[0][0] - s[2][2], s[1][2] + s[2][1]},
         {s[0][1] - s[1][0], s[2][0] + s[0][2], s[1][2] + s[2][1], s[2][2] - s[0][0] - s[1][1]}}};
    const math::Square<4> v = math::diagonalise(n);
    std::size_t best = 0;
    for (std::size_t i = 1; i < 4; ++i)
        if (n[i][i] > n[best][best]) best = i;
    return rotation_from_quat({v[0][best], v[1][best], v[2][best], v[3][best]});
}

}  // namespace

void disturb_poses(Capture& capture, const PoseNoise& noise, double extent) {
    for (std::size_t v = 0; v < capture.views.size(); ++v) {
        View& view = capture.views[v];
        if (view.test) continue;
        const Vec3d along = three(noise.seed, v, 0), move = three(noise.seed, v, 3);
        const double half = 0.5 * noise.degrees * std::numbers::pi / 180 * normal(noise.seed, v, 6);
        const double s = std::sin(half) / std::sqrt(dot(along, along));
        const Mat3d turn =
            rotation_from_quat({std::cos(half), s * along.x, s * along.y, s * along.z});
        const Vec3d eye = view.camera.position() + noise.share * extent * move;
        view.camera.rotation = view.camera.rotation * transpose(turn);
        view.camera.translation = -(view.camera.rotation * eye);
    }
}

PoseErrors pose_errors(const std::vector<Camera>& found, const std::vector<Camera>& truth) {
    const Vec3d found_centre = mean_centre(found), true_centre = mean_centre(truth);
    std::vector<Vec3d> from, to;
    for (const Camera& c : found) from.push_back(c.position() - found_centre);
    for (const Camera& c : truth) to.push_back(c.position() - true_centre);
    const Mat3d turn = turn_between(from, to);
    double along = 0, square = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
        along += dot(to[i], turn * from[i]);
        square += dot(from[i], from[i]);
    }
    double angles = 0, moves = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const Vec3d off = to[i] - (along / square) * (turn * from[i]);
        moves += dot(off, off);
        const Mat3d left = truth[i].rotation * transpose(found[i].rotation * transpose(turn));
        const Quatd q = quat_from_rotation(left);
        const double sine = std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z),
                     angle = 2 * std::atan2(sine, std::abs(q.w)) * 180 / std::numbers::pi;
        angles += angle * angle;
    }
    const auto n = static_cast<double>(from.size());
    return {std::sqrt(angles / n), std::sqrt(moves / n)};
}

}  // namespace gs
