#include "renderer/raster/measure_levels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "renderer/raster/blend_weights.h"

namespace gs {
namespace {

constexpr double kMargin = 1.05;  // of the sphere around the box
// Turned axes: seen along an axis itself, half of the harmonics are zero.
constexpr Quatd kTurn{0.80, 0.36, 0.24, 0.41};

/// As a camera far away sees it: with parallel rays.
std::vector<Camera> sides_of(Vec3d lo, Vec3d hi, double radius) {
    const Mat3d axes = rotation_from_quat(kTurn);
    const Vec3d middle = 0.5 * (lo + hi);
    std::vector<Camera> out;
    for (int axis = 0; axis < 3; ++axis)
        for (const double sign : {1.0, -1.0}) {
            Camera c;
            c.model = CameraModel::orthographic;
            c.width = c.height = kErrorSide;
            c.fx = c.fy = kErrorSide / (2 * kMargin * radius);
            c.cx = c.cy = 0.5 * kErrorSide;
            const auto row = [&](int i) {
                const double* m = axes.m[i % 3];
                return Vec3d{m[0], m[1], m[2]};
            };
            const Vec3d forward = sign * row(axis), right = row(axis + 1),
                        down = cross(forward, right);
            c.rotation = {{{right.x, right.y, right.z},
                           {down.x, down.y, down.z},
                           {forward.x, forward.y, forward.z}}};
            c.translation = Vec3d{0, 0, 2 * radius} - c.rotation * middle;
            out.push_back(c);
        }
    return out;
}

/// Red, green, blue and alpha, as a screen shows them.
using Picture = std::array<std::array<float, kErrorSide * kErrorSide>, 4>;

std::vector<Picture> pictures_of(Rasterizer& rasterizer, ForwardState& state,
                                 const GaussianModel& model, std::span<const Camera> cameras,
                                 double radius) {
    RenderOptions options = plain_options(model);
    options.gradients = false;
    options.near_plane = static_cast<float>(0.5 * radius);
    const auto source = rasterizer.source_of(model);
    std::vector<Picture> out(cameras.size());
    RenderResult result;
    for (std::size_t i = 0; i < cameras.size(); ++i) {
        rasterizer.forward(*source, cameras[i], options, state, result);
        for (int plane = 0; plane < 4; ++plane) {
            const float* from = plane < 3 ? result.color.plane(plane) : result.alpha.plane(0);
            std::transform(from, from + result.color.pixels(),
                           out[i][static_cast<std::size_t>(plane)].begin(),
                           [](float v) { return std::clamp(v, 0.0f, 1.0f); });
        }
    }
    return out;
}

/// Sum of the squares of a - b.
double squares_between(std::span<const Picture> a, std::span<const Picture> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t plane = 0; plane < 4; ++plane)
            for (std::size_t p = 0; p < a[i][plane].size(); ++p) {
                const auto d = static_cast<double>(a[i][plane][p] - b[i][plane][p]);
                sum += d * d;
            }
    return sum;
}

}  // namespace

std::vector<double> measure_levels(Rasterizer& rasterizer, std::span<const GaussianModel> levels,
                                   Vec3d lo, Vec3d hi) {
    std::vector<double> out(levels.size(), 0.0);
    const Vec3d size = hi - lo;
    const double radius = 0.5 * std::sqrt(dot(size, size));
    if (levels.size() < 2 || !(radius > 0) || !std::isfinite(radius)) return out;
    const std::vector<Camera> cameras = sides_of(lo, hi, radius);
    const auto state = rasterizer.make_state();
    const auto draw = [&](const GaussianModel& model) {
        return pictures_of(rasterizer, *state, model, cameras, radius);
    };
    const std::vector<Picture> finest = draw(levels[0]), black(cameras.size(), Picture{});
    const double energy = squares_between(finest, black);
    for (std::size_t i = 1; i < levels.size(); ++i) {
        const double difference = squares_between(draw(levels[i]), finest);
        const double error = energy > 0 ? difference / energy : difference > 0 ? 1 : 0;
        out[i] = std::max(error, out[i - 1]);
    }
    return out;
}

}  // namespace gs
