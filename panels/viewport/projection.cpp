#include "panels/viewport/projection.h"

#include <cmath>

#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

constexpr int kBentPieces = 12;

Vec3d in_camera(const Camera& camera, Vec3d point) {
    return camera.rotation * point + camera.translation;
}

/// Overlays ask for thousands of points of one lens, and making it takes as long as a hundred of
/// them: the last one is kept.
const math::Lens<double>& lens_of(const Camera& camera) {
    thread_local Camera of;
    thread_local math::Lens<double> lens = math::make_lens(of);
    if (!same_lens(of, camera)) {
        lens = math::make_lens(camera);
        of = camera;
    }
    return lens;
}

}  // namespace

std::optional<Pixel> project_point(const Camera& camera, Vec3d point, double near_depth) {
    const Vec3d p = in_camera(camera, point);
    if (is_pinhole(camera)) {
        if (!(p.z >= near_depth)) return {};
        const auto at = camera.pixel_of(p);
        return Pixel{at.x, at.y};
    }
    const math::Lens<double>& lens = lens_of(camera);
    if (!(math::lens_depth(lens, p) >= near_depth)) return {};
    const auto at = math::lens_project(lens, p);
    if (!at.valid) return {};
    return Pixel{at.uv.x, at.uv.y};
}

std::optional<std::array<Pixel, 2>> project_segment(const Camera& camera, Vec3d a, Vec3d b,
                                                    double near_depth) {
    if (!is_pinhole(camera)) {
        const auto from = project_point(camera, a, near_depth),
                   to = project_point(camera, b, near_depth);
        if (!from || !to) return {};
        const double wrap = lens_of(camera).wrap_width;
        if (wrap > 0 && std::abs(from->x - to->x) > 0.5 * wrap) return {};
        return std::array<Pixel, 2>{*from, *to};
    }
    Vec3d p = in_camera(camera, a), q = in_camera(camera, b);
    if (!(p.z >= near_depth) && !(q.z >= near_depth)) return {};
    const auto cut = [&](Vec3d inside, Vec3d outside) {
        const double t = (near_depth - inside.z) / (outside.z - inside.z);
        Vec3d at = inside + t * (outside - inside);
        at.z = near_depth;
        return at;
    };
    if (p.z < near_depth)
        p = cut(q, p);
    else if (q.z < near_depth)
        q = cut(p, q);
    const auto from = camera.pixel_of(p), to = camera.pixel_of(q);
    const std::array<Pixel, 2> out{Pixel{from.x, from.y}, Pixel{to.x, to.y}};
    if (!std::isfinite(from.x + from.y + to.x + to.y)) return {};
    return out;
}

int pieces_of_line(const Camera& camera) { return is_pinhole(camera) ? 1 : kBentPieces; }

std::optional<Vec3d> ray_direction(const Camera& camera, double x, double y) {
    const auto ray = math::lens_ray(lens_of(camera), Vec2<double>{x, y});
    if (!ray.valid) return {};
    return ray.direction;
}

}  // namespace gs
