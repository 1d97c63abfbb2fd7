#include "panels/viewport/frusta.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gs {
namespace {

Vec3d in_camera(const Camera& camera, Vec3d point) {
    return camera.rotation * point + camera.translation;
}

Pixel image_of(const Camera& camera, Vec3d p) {
    const auto at = camera.pixel_of(p);
    return {at.x, at.y};
}

/// Distance of a point to a segment, pixels.
double distance_to(const std::array<Pixel, 2>& line, Pixel at) {
    const double dx = line[1].x - line[0].x, dy = line[1].y - line[0].y;
    const double length2 = dx * dx + dy * dy;
    const double t =
        length2 > 0
            ? std::clamp(((at.x - line[0].x) * dx + (at.y - line[0].y) * dy) / length2, 0.0, 1.0)
            : 0;
    return std::hypot(line[0].x + t * dx - at.x, line[0].y + t * dy - at.y);
}

}  // namespace

std::optional<Pixel> project_point(const Camera& camera, Vec3d point, double near_depth) {
    const Vec3d p = in_camera(camera, point);
    if (!(p.z >= near_depth)) return {};
    return image_of(camera, p);
}

std::optional<std::array<Pixel, 2>> project_segment(const Camera& camera, Vec3d a, Vec3d b,
                                                    double near_depth) {
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
    const std::array<Pixel, 2> out{image_of(camera, p), image_of(camera, q)};
    const double sum = out[0].x + out[0].y + out[1].x + out[1].y;
    if (!std::isfinite(sum)) return {};
    return out;
}

std::array<Vec3d, 5> frustum_corners(const Camera& camera, double size) {
    const Mat3d world_from_camera = transpose(camera.rotation);
    const Vec3d eye = camera.position();
    const auto corner = [&](double x, double y) {
        const Vec3d local{(x - camera.cx) / camera.fx * size, (y - camera.cy) / camera.fy * size,
                          size};
        return eye + world_from_camera * local;
    };
    return {eye, corner(0, 0), corner(camera.width, 0), corner(camera.width, camera.height),
            corner(0, camera.height)};
}

std::vector<FrustumLines> visible_frusta(const Camera& viewer, std::span<const CameraRow> rows,
                                         double size) {
    constexpr std::array<std::array<std::size_t, 2>, 8> edges{
        {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {2, 3}, {3, 4}, {4, 1}}};
    std::vector<FrustumLines> out;
    if (!viewer.valid()) return out;
    const double near_depth = 0.02 * size;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].camera.valid()) continue;
        const auto corners = frustum_corners(rows[i].camera, size);
        const Vec3d way = corners[0] - viewer.position();
        if (dot(way, way) < 2.25 * size * size)
            continue;  // so near that its lines would cross the whole picture
        FrustumLines seen;
        seen.row = i;
        seen.depth = in_camera(viewer, corners[0]).z;
        bool inside = false;
        seen.label = {1e30, 1e30};
        for (const auto& [a, b] : edges) {
            const auto line = project_segment(viewer, corners[a], corners[b], near_depth);
            if (!line) continue;
            for (const Pixel& p : *line) {
                inside = inside || (p.x > -20 && p.y > -20 && p.x < viewer.width + 20 &&
                                    p.y < viewer.height + 20);
                seen.label = {std::min(seen.label.x, p.x), std::min(seen.label.y, p.y)};
            }
            seen.lines.push_back(*line);
        }
        std::array<Pixel, 4> photo{};
        bool before = true;
        for (std::size_t k = 0; k < photo.size() && before; ++k) {
            const auto at = project_point(viewer, corners[k + 1], near_depth);
            before = at.has_value();
            if (before) photo[k] = *at;
        }
        if (before) seen.photo = photo;
        if (inside) out.push_back(std::move(seen));
    }
    std::sort(out.begin(), out.end(),
              [](const FrustumLines& a, const FrustumLines& b) { return a.depth > b.depth; });
    return out;
}

std::optional<std::size_t> frustum_at(std::span<const FrustumLines> frusta, Pixel at,
                                      double reach) {
    std::optional<std::size_t> best;
    for (const FrustumLines& one : frusta)  // the last, nearest one wins
        for (const auto& line : one.lines)
            if (distance_to(line, at) <= reach) best = one.row;
    return best;
}

FrustaRange::FrustaRange(std::span<const CameraRow> rows, FrustaColor by)
    : of(by),
      lo(std::numeric_limits<double>::infinity()),
      hi(-std::numeric_limits<double>::infinity()) {
    for (const CameraRow& row : rows)
        if (const double value = value_of(row); std::isfinite(value))
            lo = std::min(lo, value), hi = std::max(hi, value);
}

double FrustaRange::value_of(const CameraRow& row) const {
    switch (of) {
        case FrustaColor::psnr:
            return row.psnr;
        case FrustaColor::ssim:
            return row.ssim;
        case FrustaColor::loss:
            return row.loss;
        case FrustaColor::used:
            return row.test ? std::numeric_limits<double>::quiet_NaN() : row.times_sampled;
        default:
            return std::numeric_limits<double>::quiet_NaN();
    }
}

std::vector<std::size_t> nearest_cameras(const Camera& viewer, std::span<const CameraRow> rows,
                                         std::size_t most) {
    std::vector<std::pair<double, std::size_t>> by_distance;
    for (const CameraRow& row : rows) {
        const Vec3d way = row.camera.position() - viewer.position();
        by_distance.emplace_back(dot(way, way), row.view);
    }
    const std::size_t count = std::min(most, by_distance.size());
    std::nth_element(by_distance.begin(), by_distance.begin() + static_cast<std::ptrdiff_t>(count),
                     by_distance.end());
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(by_distance[i].second);
    return out;
}

double frustum_size(const SceneInfo& scene, std::size_t cameras) {
    const double extent = scene.extent > 0 && std::isfinite(scene.extent) ? scene.extent : 1;
    return extent *
           std::clamp(0.7 / std::sqrt(static_cast<double>(std::max<std::size_t>(cameras, 1))),
                      0.015, 0.12);
}

}  // namespace gs
