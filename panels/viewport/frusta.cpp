#include "panels/viewport/frusta.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

Vec3d in_camera(const Camera& camera, Vec3d point) {
    return camera.rotation * point + camera.translation;
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

constexpr int kRimPieces = 8;      // a side
constexpr int kCirclePieces = 48;  // of a globe
constexpr int kPhotoCells = 8;     // of a bent photo, a side

CameraLines globe() {
    CameraLines out;
    const auto on_circle = [](int axis, int i) {
        const double angle = 2 * std::numbers::pi * i / kCirclePieces;
        const double c = std::cos(angle), s = std::sin(angle);
        return axis == 0 ? Vec3d{0, c, s} : axis == 1 ? Vec3d{s, 0, c} : Vec3d{c, s, 0};
    };
    for (int axis = 0; axis < 3; ++axis)
        for (int i = 0; i < kCirclePieces; ++i)
            out.push_back({on_circle(axis, i), on_circle(axis, i + 1)});
    out.push_back({Vec3d{}, Vec3d{0, 0, 1}});  // ahead
    return out;
}

/// The direction of the picture's rim at (x, y), pulled in towards the axis to where there is one.
Vec3d rim_direction(const Camera& camera, double x, double y) {
    if (const auto ray = ray_direction(camera, x, y)) return *ray;
    double inside = 0, outside = 1;
    Vec3d out{0, 0, 1};
    for (int i = 0; i < 20; ++i) {
        const double t = 0.5 * (inside + outside);
        const auto ray =
            ray_direction(camera, camera.cx + t * (x - camera.cx), camera.cy + t * (y - camera.cy));
        (ray ? inside : outside) = t;
        if (ray) out = *ray;
    }
    return out;
}

/// The places that a photo's cells meet at, row by row, in the camera's own axes at depth 1 (or
/// distance, where it is bent); nothing where there is no ray.
struct PhotoSheet {
    int cells = 0;  ///< a side; 0: the photo is not drawn
    std::vector<std::optional<Vec3d>> places;
};
PhotoSheet sheet_of(const Camera& camera, bool bent_picture) {
    if (camera.model == CameraModel::equirectangular) return {};
    const bool straight = is_pinhole(camera);
    PhotoSheet out{straight && !bent_picture ? 1 : kPhotoCells, {}};
    for (int i = 0; i <= out.cells; ++i)
        for (int j = 0; j <= out.cells; ++j) {
            const double x = static_cast<double>(j) / out.cells * camera.width,
                         y = static_cast<double>(i) / out.cells * camera.height;
            if (straight)
                out.places.emplace_back(
                    Vec3d{(x - camera.cx) / camera.fx, (y - camera.cy) / camera.fy, 1});
            else
                out.places.push_back(ray_direction(camera, x, y));
        }
    return out;
}

/// The cells of a photo at depth `size` in front of its camera.
std::vector<PhotoCell> cells_of(const PhotoSheet& sheet, const Camera& camera, const Camera& viewer,
                                double size, double near_depth) {
    const Mat3d world_from_camera = transpose(camera.rotation);
    const Vec3d eye = camera.position();
    std::vector<std::optional<Pixel>> seen;
    for (const auto& place : sheet.places)
        seen.push_back(
            place ? project_point(viewer, eye + world_from_camera * (size * *place), near_depth)
                  : std::nullopt);
    // Over the seam of a picture of all directions nothing is drawn: it would cross all of it.
    const double most = viewer.model == CameraModel::equirectangular ? 0.5 * viewer.width : 1e30;
    std::vector<PhotoCell> out;
    const auto side = static_cast<std::size_t>(sheet.cells);
    const double step = sheet.cells > 0 ? 1.0 / sheet.cells : 0;
    for (std::size_t i = 0; i < side; ++i)
        for (std::size_t j = 0; j < side; ++j) {
            const std::size_t at = i * (side + 1) + j;
            const std::array corners{seen[at], seen[at + 1], seen[at + side + 2],
                                     seen[at + side + 1]};
            PhotoCell cell{static_cast<double>(j) * step,
                           static_cast<double>(i) * step,
                           static_cast<double>(j + 1) * step,
                           static_cast<double>(i + 1) * step,
                           {}};
            bool whole = true;
            for (std::size_t k = 0; k < 4; ++k) {
                whole = whole && corners[k] && std::abs(corners[k]->x - corners[0]->x) < most;
                if (whole) cell.corners[k] = *corners[k];
            }
            if (whole) out.push_back(cell);
        }
    return out;
}

}  // namespace

CameraLines lines_of_lens(const Camera& camera) {
    if (camera.model == CameraModel::equirectangular) return globe();
    const double w = camera.width, h = camera.height;
    const std::array<std::array<double, 2>, 4> corners{{{0, 0}, {w, 0}, {w, h}, {0, h}}};
    const bool straight = camera.model == CameraModel::pinhole || camera.orthographic();
    const int pieces = straight ? 1 : kRimPieces;
    const auto place = [&](std::size_t side, int piece) {
        const auto &a = corners[side], &b = corners[(side + 1) % 4];
        const double t = static_cast<double>(piece) / pieces, x = a[0] + t * (b[0] - a[0]),
                     y = a[1] + t * (b[1] - a[1]);
        if (straight) return Vec3d{(x - camera.cx) / camera.fx, (y - camera.cy) / camera.fy, 1};
        return rim_direction(camera, x, y);
    };
    CameraLines out;
    for (std::size_t side = 0; side < 4; ++side) out.push_back({Vec3d{}, place(side, 0)});
    for (std::size_t side = 0; side < 4; ++side)
        for (int piece = 0; piece < pieces; ++piece)
            out.push_back({place(side, piece), place(side, piece + 1)});
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
                                         double size, bool photos) {
    std::vector<FrustumLines> out;
    if (!viewer.valid()) return out;
    const double near_depth = 0.02 * size;
    const Camera* lens = nullptr;  // that `own` is of: a capture's cameras mostly share one
    CameraLines own;
    PhotoSheet sheet;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Camera& camera = rows[i].camera;
        if (!camera.valid()) continue;
        if (lens == nullptr || !same_lens(*lens, camera)) {
            own = lines_of_lens(camera);
            if (photos) sheet = sheet_of(camera, !is_pinhole(viewer));
        }
        lens = &camera;
        const Vec3d eye = camera.position();
        const Mat3d world_from_camera = transpose(camera.rotation);
        const Vec3d way = eye - viewer.position();
        if (dot(way, way) < 2.25 * size * size)
            continue;  // so near that its lines would cross the whole picture
        FrustumLines seen{.row = i, .depth = viewer.depth_of(in_camera(viewer, eye))};
        bool inside = false;
        seen.label = {1e30, 1e30};
        for (const auto& [a, b] : own)
            project_line(
                viewer, eye + world_from_camera * (size * a), eye + world_from_camera * (size * b),
                near_depth, [&](const std::array<Pixel, 2>& line) {
                    for (const Pixel& p : line) {
                        inside = inside || (p.x > -20 && p.y > -20 && p.x < viewer.width + 20 &&
                                            p.y < viewer.height + 20);
                        seen.label = {std::min(seen.label.x, p.x), std::min(seen.label.y, p.y)};
                    }
                    seen.lines.push_back(line);
                });
        if (!inside) continue;
        seen.photo = cells_of(sheet, camera, viewer, size, near_depth);
        out.push_back(std::move(seen));
    }
    std::ranges::sort(out, std::greater{}, &FrustumLines::depth);
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
