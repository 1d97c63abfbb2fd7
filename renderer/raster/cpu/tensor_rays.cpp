#include "renderer/raster/cpu/tensor_rays.h"

#include <algorithm>
#include <cmath>

#include "renderer/math/along_ray.h"

namespace gs::tensor {
namespace {

struct WorldShape {
    Vec3d scale;
    Quatd quat;
    Mat3d whitening;
};
WorldShape world_shape(const RayInput& rays, std::size_t row) {
    const float *s = rays.scales + 3 * row, *q = rays.quats + 4 * row;
    WorldShape out{{s[0], s[1], s[2]}, {q[0], q[1], q[2], q[3]}, {}};
    out.whitening = math::whitening(out.scale, out.quat);
    return out;
}

}  // namespace

bool set_body(const BlendInput& in, std::size_t e, cpu::RayBody& body) {
    const double opacity = in.opacities[e];
    constexpr float kFar = 1e7f;  // px
    if (!(in.radii[2 * e] > 0 && in.radii[2 * e + 1] > 0 && opacity >= kLeastAlpha32 &&
          std::abs(in.means2d[2 * e]) < kFar && std::abs(in.means2d[2 * e + 1]) < kFar))
        return false;
    const std::size_t row = row_of(*in.rays, e);
    const float* mean = in.rays->means + 3 * row;
    const Mat3d whitening = world_shape(*in.rays, row).whitening;
    bool finite = true;
    for (int k = 0; k < 9; ++k) {
        body.whitening[k] = static_cast<float>(whitening.m[k / 3][k % 3]);
        finite = finite && std::abs(body.whitening[k]) < 1e15f;
    }
    body.mean = {mean[0], mean[1], mean[2]};
    body.log2_opacity = static_cast<float>(std::log2(std::min(opacity, 1e30)));
    return finite;
}
cpu::Coverage box_coverage(const BlendInput& in, std::size_t e, const cpu::CpuState& state,
                           std::vector<cpu::TileSpan>& spans) {
    const auto range = [&](int axis, int tiles) {
        const double at = in.means2d[2 * e + axis], radius = in.radii[2 * e + axis];
        const auto tile = [&](double x) {
            return static_cast<std::uint16_t>(std::clamp<double>(x / kTileSize, 0, tiles));
        };
        return std::pair{tile(std::max(at - radius, 0.0)),
                         tile(std::max(at + radius, 0.0) + kTileSize - 1e-9)};
    };
    const auto [x0, x1] = range(0, state.tiles_x);
    const auto [y0, y1] = range(1, state.tiles_y);
    cpu::Coverage out{static_cast<std::uint32_t>(spans.size()), y0, 0, 0, 0};
    if (x1 <= x0 || y1 <= y0) return out;
    out.rows = static_cast<std::uint16_t>(y1 - y0);
    out.isects = std::uint32_t{out.rows} * static_cast<std::uint32_t>(x1 - x0);
    spans.resize(spans.size() + out.rows, {x0, x1});
    return out;
}

void set_rays(const math::LensCamera<double>& view, const BlendInput& in, std::uint32_t tile,
              int tiles_x, cpu::PixelRays& out) {
    const int x0 = static_cast<int>(tile) % tiles_x * kTileSize,
              y0 = static_cast<int>(tile) / tiles_x * kTileSize;
    CameraRay rays[cpu::kTilePixels];
    int seen = 0;
    out.origin = out.direction = {};
    for (int i = 0; i < cpu::kTilePixels; ++i) {
        const int square = i / cpu::kSquarePixels, at = i % cpu::kSquarePixels,
                  x = x0 + square % 4 * cpu::kSquareSide + at % cpu::kSquareSide,
                  y = y0 + square / 4 * cpu::kSquareSide + at / cpu::kSquareSide;
        if (x < in.width && y < in.height) rays[i] = ray_of(view, {x + 0.5, y + 0.5});
        out.seen[i] = rays[i].valid;
        if (!out.seen[i]) continue;
        ++seen;
        out.origin += rays[i].origin;
        out.direction += rays[i].direction;
    }
    if (seen == 0) return;
    out.origin = (1.0 / seen) * out.origin;
    out.direction = (1 / std::sqrt(dot(out.direction, out.direction))) * out.direction;
    for (int i = 0; i < cpu::kTilePixels; ++i) {
        const Vec3d turn = rays[i].direction - out.direction, move = rays[i].origin - out.origin;
        const double values[2][3] = {{turn.x, turn.y, turn.z}, {move.x, move.y, move.z}};
        for (int k = 0; k < 3; ++k) {
            const int at = k * cpu::kTilePixels + i;
            out.directions[at] = out.seen[i] ? static_cast<float>(values[0][k]) : 0;
            out.origins[at] = out.seen[i] ? static_cast<float>(values[1][k]) : 0;
        }
    }
}

void add_to_view(const RayInput& rays, std::size_t row, const BodySums& sums, PoseSums& view) {
    const Mat3d back = transpose(world_shape(rays, row).whitening);
    const Vec3d origin = back * Vec3d{sums.arm[0], sums.arm[1], sums.arm[2]};
    Mat3d whitening;
    std::copy_n(sums.whitening, 9, &whitening.m[0][0]);
    // M (o - mean) and M d have M's own gradient through o - mean and d.
    const Mat3d through = back * whitening;
    const double values[3] = {origin.x, origin.y, origin.z};
    for (std::size_t k = 0; k < 3; ++k) {
        view.origin[k] += values[k];
        for (std::size_t i = 0; i < 3; ++i) {
            const double mean = rays.means[3 * row + i];
            view.turn[3 * i + k] += through.m[k][i] + mean * values[k];
        }
    }
}

void put_view(const RayInput& rays, std::size_t view, std::span<const PoseSums> parts,
              float* viewmats) {
    PoseSums sum{};
    for (const PoseSums& part : parts) {
        for (std::size_t k = 0; k < 3; ++k) sum.origin[k] += part.origin[k];
        for (std::size_t k = 0; k < 9; ++k) sum.turn[k] += part.turn[k];
    }
    Mat3d turn;
    std::copy_n(sum.turn, 9, &turn.m[0][0]);
    // o = -R^T (t - offset), d = R^T direction.
    const Mat3d rotation = view_of(rays, view, false).rotation, v_rotation = rotation * turn;
    const Vec3d moved = rotation * Vec3d{-sum.origin[0], -sum.origin[1], -sum.origin[2]};
    const double last[3] = {moved.x, moved.y, moved.z};
    float* to = viewmats + 16 * view;
    std::fill_n(to, 16, 0.0f);
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) to[4 * i + j] = static_cast<float>(v_rotation.m[i][j]);
        to[4 * i + 3] = static_cast<float>(last[i]);
    }
}

void put_body_row(const RayInput& rays, std::size_t row, const BodySums& sums,
                  const BlendGradients& out) {
    double values[10] = {};
    const auto moves = [](double x) { return x != 0; };
    if (std::any_of(sums.whitening, sums.whitening + 9, moves)) {
        const WorldShape shape = world_shape(rays, row);
        Mat3d v;
        std::copy_n(sums.whitening, 9, &v.m[0][0]);
        const auto g = math::whitening_vjp(shape.scale, shape.quat, shape.whitening, v);
        const Vec3d mean =
            transpose(shape.whitening) * Vec3d{-sums.arm[0], -sums.arm[1], -sums.arm[2]};
        const double all[10] = {mean.x,
                                mean.y,
                                mean.z,
                                g.log_scale.x / shape.scale.x,
                                g.log_scale.y / shape.scale.y,
                                g.log_scale.z / shape.scale.z,
                                g.quat.w,
                                g.quat.x,
                                g.quat.y,
                                g.quat.z};
        std::copy_n(all, 10, values);
    }
    for (std::size_t k = 0; k < 3; ++k) {
        if (out.means != nullptr) out.means[3 * row + k] = static_cast<float>(values[k]);
        if (out.scales != nullptr) out.scales[3 * row + k] = static_cast<float>(values[3 + k]);
    }
    for (std::size_t k = 0; k < 4 && out.quats != nullptr; ++k)
        out.quats[4 * row + k] = static_cast<float>(values[6 + k]);
}

}  // namespace gs::tensor
