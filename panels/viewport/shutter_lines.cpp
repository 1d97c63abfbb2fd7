#include "panels/viewport/shutter_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "renderer/scene/camera_names.h"

namespace gs {
namespace {

constexpr int kAcross = 9, kDown = 7;

bool by_rows(const Camera& camera) {
    return camera.shutter == Shutter::top_to_bottom || camera.shutter == Shutter::bottom_to_top;
}

}  // namespace

double shutter_time(const Camera& camera, double x, double y) {
    if (!camera.rolling()) return 0.5;
    const double at = by_rows(camera) ? y : x,
                 side = by_rows(camera) ? camera.height : camera.width;
    const double share = std::clamp((at - 0.5) / std::max(side - 1, 1.0), 0.0, 1.0);
    const bool forwards =
        camera.shutter == Shutter::top_to_bottom || camera.shutter == Shutter::left_to_right;
    return forwards ? share : 1 - share;
}

std::vector<ShutterArrow> shutter_arrows(const Camera& camera, double distance) {
    std::vector<ShutterArrow> out;
    if (!camera.rolling() || !camera.valid()) return out;
    Camera still = camera;
    still.shutter = Shutter::global;
    for (int i = 0; i < kDown; ++i)
        for (int j = 0; j < kAcross; ++j) {
            const Pixel at{(j + 0.5) / kAcross * camera.width, (i + 0.5) / kDown * camera.height};
            const CameraRay ray = camera.ray_of(at.x, at.y);
            if (!ray.valid) continue;
            const Vec3d seen = ray.origin + distance * ray.direction;
            if (const auto from = project_point(still, seen, 1e-9 * distance))
                out.push_back({*from, at, shutter_time(camera, at.x, at.y)});
        }
    return out;
}

std::string words_of_shutter(const Camera& camera, const std::vector<ShutterArrow>& arrows,
                             double distance) {
    if (arrows.empty()) return {};
    std::vector<double> moves;
    for (const ShutterArrow& arrow : arrows)
        moves.push_back(std::hypot(arrow.to.x - arrow.from.x, arrow.to.y - arrow.from.y));
    std::sort(moves.begin(), moves.end());
    return fmt::format(
        "{} read {}; at {} world units this shifts them by {:.1f} px (median), {:.1f} at most",
        by_rows(camera) ? "rows" : "columns", text_of(camera.shutter), format_number(distance, 2),
        moves[moves.size() / 2], moves.back());
}

}  // namespace gs
