#include "panels/viewport/overlay_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "panels/viewport/overlays.h"
#include "panels/viewport/shutter_lines.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

/// The photo's camera at the picture's size, if it has a rolling shutter and arrows are on.
std::optional<Camera> shutter_camera(const Snapshot& snapshot, const ViewFrame& frame) {
    const int view = snapshot.view.capture_view;
    if (!snapshot.view.shutter_arrows || !snapshot.cameras || !snapshot.scene || view < 0 ||
        static_cast<std::size_t>(view) >= snapshot.cameras->size())
        return {};
    const Camera& camera = (*snapshot.cameras)[static_cast<std::size_t>(view)].camera;
    if (!camera.rolling() || frame.camera.width <= 0 || frame.camera.height <= 0) return {};
    return camera.scaled_to(frame.camera.width, frame.camera.height);
}
/// How far away the arrows' points are: as the scene's middle.
double shutter_distance(const Snapshot& snapshot, const Camera& camera) {
    const Vec3f c = snapshot.scene->center;
    const Vec3d way = Vec3d{c.x, c.y, c.z} - camera.position();
    const double extent = snapshot.scene->extent > 0 ? snapshot.scene->extent : 1;
    return std::max(std::sqrt(dot(way, way)), 0.05 * extent);
}

}  // namespace

void draw_shutter(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                  PictureRect picture) {
    const auto shown = shutter_camera(snapshot, frame);
    if (!shown) return;
    const Camera& camera = *shown;
    const auto color_at = [](double time) {
        const auto part = [](double x) { return static_cast<int>(std::lround(255 * x)); };
        return IM_COL32(part(0.25 + 0.75 * time), part(0.75 - 0.35 * time), part(1 - 0.8 * time),
                        255);
    };
    for (const ShutterArrow& arrow : shutter_arrows(camera, shutter_distance(snapshot, camera))) {
        const ImVec2 a = on_screen(picture, camera, arrow.from),
                     b = on_screen(picture, camera, arrow.to);
        list.AddLine(a, b, theme().window, 4 * hairline());
        list.AddLine(a, b, color_at(arrow.time), 2 * hairline());
        list.AddCircleFilled(b, 0.2F * em(), color_at(arrow.time));
    }
    const bool rows =
        camera.shutter == Shutter::top_to_bottom || camera.shutter == Shutter::bottom_to_top;
    constexpr int kTicks = 5;
    for (int i = 0; i < kTicks; ++i) {
        const double share = static_cast<double>(i) / (kTicks - 1);
        const Pixel at{rows ? camera.width - 0.5 : 0.5 + share * (camera.width - 1),
                       rows ? 0.5 + share * (camera.height - 1) : camera.height - 0.5};
        const double time = shutter_time(camera, at.x, at.y);
        // At the right, and above the lowest line: on the left and there stand other words.
        ImVec2 place = on_screen(picture, camera, at);
        const float lowest = picture.b.y - (rows ? 1.6F : 3.4F) * em();
        place.x = std::clamp(place.x - 1.6F * em(), picture.a.x, picture.b.x - 3.6F * em());
        place.y = std::clamp(place.y - 0.7F * em(), picture.a.y, lowest);
        draw_chip(list, place, fmt::format("t {:.2f}", time), color_at(time));
    }
}

std::string words_of_shutter(const Snapshot& snapshot, const ViewFrame& frame) {
    const auto camera = shutter_camera(snapshot, frame);
    if (!camera) return {};
    const double distance = shutter_distance(snapshot, *camera);
    return words_of_shutter(*camera, shutter_arrows(*camera, distance), distance);
}

}  // namespace gs
