#include "renderer/maps/normals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/parallel.h"
#include "renderer/maps/plane.h"
#include "renderer/raster/view_setup.h"
#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr float kNoNormal = std::numeric_limits<float>::quiet_NaN();
/// Depth over width on the surface, between two pixels: steeper (87 degrees) is its edge.
constexpr float kSteepest = 20;
/// Samples to each side of a pixel, and how many of all must lie on the same surface.
constexpr int kReach = 3, kLeastSamples = 6;
/// The share of samples that should be of other Gaussians, and how far apart they are taken for
/// that, px.
constexpr float kOthers = 0.9f;
constexpr int kFarthest = 16;

/// What runs straight across the picture of a plane, or smoothly where a lens is bent: one over
/// depth, or with parallel rays depth itself. 0 where there is none.
ImageF straight_depths(const RenderResult& result, bool parallel) {
    const float* median = result.median_depth.plane(0);
    return plane_of(result.width, result.height, [=](std::size_t i) {
        return median[i] > 0 ? (parallel ? median[i] : 1 / median[i]) : 0.0f;
    });
}

/// The straight line through samples around a pixel, by least squares: value + x right + y down.
struct Slope {
    float value = 0, right = 0, down = 0;
};

/// Sums over samples (x, y: px from the pixel; v: value).
struct Samples {
    float n = 0, x = 0, y = 0, v = 0, xx = 0, xy = 0, yy = 0, xv = 0, yv = 0;

    void add(float px, float py, float value) {
        n += 1, x += px, y += py, v += value;
        xx += px * px, xy += px * py, yy += py * py, xv += px * value, yv += py * value;
    }
    /// Nothing when they are too few, or lie on a line.
    std::optional<Slope> fit() const {
        if (n < kLeastSamples) return std::nullopt;
        const float cxx = xx - x * x / n, cxy = xy - x * y / n, cyy = yy - y * y / n,
                    cxv = xv - x * v / n, cyv = yv - y * v / n;
        const float det = cxx * cyy - cxy * cxy;
        if (!(det > 1e-6f * (cxx + cyy) * (cxx + cyy))) return std::nullopt;
        const float right = (cyy * cxv - cxy * cyv) / det, down = (cxx * cyv - cxy * cxv) / det;
        return Slope{(v - right * x - down * y) / n, right, down};
    }
};

/// Whether two values are too far apart for one surface; one of them may be nothing (0).
struct Jump {
    float most;     ///< depth over width: pinhole, in depths a pixel; parallel, in world units
    bool parallel;  ///< rays
    bool between(float a, float b) const {
        // |z - z'| f <= steepest * min(z, z'), in terms of 1 / z.
        return !(b > 0) || std::abs(a - b) > most * (parallel ? 1.0f : std::min(a, b));
    }
};

/// Samples around a pixel, `step` px apart, as far as the depth does not jump. `others`: counts
/// those of another depth, so of another Gaussian.
Samples samples_around(const ImageF& depths, int x, int y, int step, const Jump& jump,
                       int& others) {
    const float here = depths.at(0, x, y);
    Samples samples;
    others = 0;
    for (int j = -kReach; j <= kReach; ++j) {
        const int sy = y + j * step;
        if (sy < 0 || sy >= depths.height) continue;
        const float* row = depths.plane(0) + static_cast<std::ptrdiff_t>(sy) * depths.width;
        for (int i = -kReach; i <= kReach; ++i) {
            const int sx = x + i * step;
            if (sx < 0 || sx >= depths.width) continue;
            const float there = row[sx], from_here = there - here;
            if (jump.between(here, there)) continue;
            samples.add(static_cast<float>(i * step), static_cast<float>(j * step), from_here);
            others += from_here != 0 ? 1 : 0;
        }
    }
    return samples;
}

/// Within one Gaussian the median depth is level: where most samples are of one, they are taken
/// farther apart. `step`: where to begin; then what was needed, which neighbours begin with.
std::optional<Slope> slope_at(const ImageF& depths, int x, int y, const Jump& jump, int& step) {
    const float here = depths.at(0, x, y);
    if (!(here > 0)) return std::nullopt;
    std::optional<Slope> slope;
    for (step = std::max(1, step / 2);; step *= 2) {
        int others = 0;
        const Samples samples = samples_around(depths, x, y, step, jump, others);
        const auto fit = samples.fit();
        if (fit) slope = fit;
        const bool enough = static_cast<float>(others) >= kOthers * samples.n;
        if (enough || (slope && !fit) || step >= kFarthest) break;
    }
    if (slope) slope->value += here;
    return slope;
}

/// How the ray of a pixel, long enough to be at depth 1, moves with the pixel; in camera axes.
struct MovingRay {
    Vec3d ray, right, down;
};
std::optional<MovingRay> moving_ray(const math::Lens<double>& lens, int x, int y) {
    constexpr double kStep = 0.25;  // px
    bool valid = true;
    const auto ray_at = [&](double dx, double dy) {
        const auto ray = math::lens_ray(lens, Vec2<double>{x + 0.5 + dx, y + 0.5 + dy});
        valid = valid && ray.valid;
        return (lens.by_distance ? 1 : 1 / ray.direction.z) * ray.direction;
    };
    const MovingRay out{ray_at(0, 0), (0.5 / kStep) * (ray_at(kStep, 0) - ray_at(-kStep, 0)),
                        (0.5 / kStep) * (ray_at(0, kStep) - ray_at(0, -kStep))};
    return valid ? std::optional(out) : std::nullopt;
}
/// On a plane n . p = 1 a point is ray / s with s = n . ray: s and its slopes are three equations
/// for n, whose direction is away from the camera.
std::optional<Vec3d> world_normal(const Slope& slope, const Camera& camera,
                                  const math::Lens<double>& lens, int x, int y) {
    const auto at = moving_ray(lens, x, y);
    if (!at) return std::nullopt;
    const double s = static_cast<double>(slope.value), right = static_cast<double>(slope.right),
                 down = static_cast<double>(slope.down);
    const Vec3d away = s * cross(at->right, at->down) + right * cross(at->down, at->ray) +
                       down * cross(at->ray, at->right);
    const double side = dot(at->ray, cross(at->right, at->down)) < 0 ? -1 : 1;
    return transpose(camera.rotation) * ((-side / std::sqrt(dot(away, away))) * away);
}

/// Pinhole: a X + b Y + c Z = 1 holds on the plane whose 1 / Z is a (X / Z) + b (Y / Z) + c.
/// Parallel rays: Z = a X + b Y + d does. Both give the direction away from the camera.
std::optional<Vec3d> world_normal(const Slope& slope, const Camera& camera, int x, int y) {
    const double a = static_cast<double>(slope.right) * camera.fx,
                 b = static_cast<double>(slope.down) * camera.fy,
                 c = static_cast<double>(slope.value) - a * (x + 0.5 - camera.cx) / camera.fx -
                     b * (y + 0.5 - camera.cy) / camera.fy;
    const Vec3d away = camera.orthographic() ? Vec3d{-a, -b, 1} : Vec3d{a, b, c};
    return transpose(camera.rotation) * ((-1 / std::sqrt(dot(away, away))) * away);
}

std::uint8_t byte_of_part(float n) {
    return static_cast<std::uint8_t>(std::lround(255 * (0.5f + 0.5f * n)));
}

}  // namespace

ImageF normals_of(const RenderResult& result, const Camera& camera) {
    ImageF out(result.width, result.height, 3);
    const ImageF depths = straight_depths(result, camera.orthographic());
    const Jump jump{kSteepest / static_cast<float>(std::max(camera.fx, camera.fy)),
                    camera.orthographic()};
    const bool straight = draws_as_pinhole(camera);
    const math::Lens<double> lens = math::make_lens(camera);
    const auto normal_at = [&](const Slope& slope, int x, int y) {
        return straight ? world_normal(slope, camera, x, y)
                        : world_normal(slope, camera, lens, x, y);
    };
    parallel_for(static_cast<std::size_t>(result.height), 8, [&](std::size_t row) {
        const int y = static_cast<int>(row);
        int step = 1;
        for (int x = 0; x < result.width; ++x) {
            const auto slope = slope_at(depths, x, y, jump, step);
            const std::optional<Vec3d> n = slope ? normal_at(*slope, x, y) : std::nullopt;
            out.at(0, x, y) = n ? static_cast<float>(n->x) : kNoNormal;
            out.at(1, x, y) = n ? static_cast<float>(n->y) : kNoNormal;
            out.at(2, x, y) = n ? static_cast<float>(n->z) : kNoNormal;
        }
    });
    return out;
}

Image8 normals_picture(const ImageF& normals, Rgb8 empty) {
    Image8 out{normals.width, normals.height, 4, {}};
    out.bytes.resize(out.pixels() * 4, 255);
    for (std::size_t i = 0; i < out.pixels(); ++i) {
        std::uint8_t* pixel = &out.bytes[4 * i];
        const bool none = std::isnan(normals.plane(0)[i]);
        pixel[0] = none ? empty.r : byte_of_part(normals.plane(0)[i]);
        pixel[1] = none ? empty.g : byte_of_part(normals.plane(1)[i]);
        pixel[2] = none ? empty.b : byte_of_part(normals.plane(2)[i]);
    }
    return out;
}

}  // namespace gs
