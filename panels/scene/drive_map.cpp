#include "panels/scene/drive_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/nth.h"
#include "panels/widgets/widgets.h"

namespace gs {
namespace {

constexpr std::size_t kMostSpots = 12'000;
constexpr double kLeastReach = 5, kAir = 1.15;  // m; times the drive's extent
constexpr double kReachShare = 0.85;            // of the points that the map shows at first

double far_from(MapPlace a, MapPlace b) { return std::hypot(a.right - b.right, a.ahead - b.ahead); }

/// A round length that is about a third of `metres`.
double scale_bar(double metres) {
    const double wanted = metres / 3, ten = std::pow(10.0, std::floor(std::log10(wanted)));
    return ten * (wanted >= 5 * ten ? 5 : wanted >= 2 * ten ? 2 : 1);
}

/// The place of the map on the screen.
struct MapView {
    ImVec2 corner, size;
    MapPlace middle;
    double pixels;  // a metre

    ImVec2 on_screen(MapPlace p) const {
        return {corner.x + 0.5F * size.x + static_cast<float>(pixels * (p.right - middle.right)),
                corner.y + 0.5F * size.y - static_cast<float>(pixels * (p.ahead - middle.ahead))};
    }
    MapPlace at(ImVec2 p) const {
        return {middle.right + static_cast<double>(p.x - corner.x - 0.5F * size.x) / pixels,
                middle.ahead - static_cast<double>(p.y - corner.y - 0.5F * size.y) / pixels};
    }
    bool shows(ImVec2 p) const {
        return p.x >= corner.x && p.y >= corner.y && p.x < corner.x + size.x &&
               p.y < corner.y + size.y;
    }
};

void draw_way(ImDrawList& list, const DriveState& drive, const MapView& map) {
    for (std::size_t i = 0; i + 1 < drive.way.size(); ++i)
        list.AddLine(map.on_screen(on_map(drive, drive.way[i])),
                     map.on_screen(on_map(drive, drive.way[i + 1])), theme().accent,
                     1.5F * hairline());
    for (std::size_t i = 0; i < drive.sweeps.size(); ++i) {
        const ImVec2 at = map.on_screen(on_map(drive, drive.sweeps[i].place));
        if (i != drive.chosen) list.AddCircleFilled(at, 0.14F * em(), theme().accent);
    }
    if (drive.chosen >= drive.sweeps.size()) return;
    const ImVec2 at = map.on_screen(on_map(drive, drive.sweeps[drive.chosen].place));
    list.AddCircleFilled(at, 0.32F * em(), theme().window);
    list.AddCircleFilled(at, 0.24F * em(), theme().warning);
}

/// The left and right edges of each current camera's view.
void draw_cameras(ImDrawList& list, const DriveState& drive, const Snapshot& snapshot,
                  const MapView& map) {
    if (!snapshot.cameras || drive.chosen >= drive.sweeps.size()) return;
    for (const std::size_t photo : drive.sweeps[drive.chosen].photos) {
        if (photo >= snapshot.cameras->size()) continue;
        const CameraRow& row = (*snapshot.cameras)[photo];
        const Vec3d from = row.camera.position();
        const MapPlace at = on_map(drive, from), ahead = on_map(drive, from + row.camera.forward());
        const double along = std::atan2(ahead.right - at.right, ahead.ahead - at.ahead);
        const double half =
            row.camera.fx > 0 ? std::atan(0.5 * row.camera.width / row.camera.fx) : 0.5;
        const ImU32 color = row.test ? theme().test_camera : theme().train_camera;
        const double length = static_cast<double>(2.2F * em()) / map.pixels;
        for (const double side : {along - half, along + half})
            list.AddLine(map.on_screen(at),
                         map.on_screen({at.right + length * std::sin(side),
                                        at.ahead + length * std::cos(side)}),
                         color, 1.5F * hairline());
    }
}

void draw_map_scale(ImDrawList& list, const MapView& map) {
    const double metres = scale_bar(static_cast<double>(map.size.x) / map.pixels);
    const float width = static_cast<float>(metres * map.pixels);
    const ImVec2 a{map.corner.x + 0.6F * em(), map.corner.y + map.size.y - 0.6F * em()};
    list.AddLine(a, {a.x + width, a.y}, theme().text, 2 * hairline());
    list.AddText({a.x, a.y - 1.3F * em()}, theme().text, fmt::format("{} m", metres).c_str());
}

}  // namespace

MapPlace on_map(const DriveState& drive, Vec3d world) {
    const Vec3d right = cross(drive.ahead, drive.up);
    return {dot(world, right), dot(world, drive.ahead)};
}

std::optional<std::size_t> nearest_sweep_on_map(const DriveState& drive, MapPlace at) {
    std::optional<std::size_t> best;
    double distance = 0;
    for (std::size_t i = 0; i < drive.sweeps.size(); ++i) {
        const double far = far_from(on_map(drive, drive.sweeps[i].place), at);
        if (!best || far < distance) best = i, distance = far;
    }
    return best;
}

/// Once for each shown sweep; the map's reach once for each recording.
void DriveMap::shape(const DriveState& drive) {
    const std::uint64_t serial = drive.shown ? drive.shown->serial : 0;
    if (serial_ == serial && path_ == drive.path) return;
    serial_ = serial;
    spots_.clear();
    middle_ = on_map(drive, drive.sweeps[drive.chosen].place);
    if (!drive.shown) return;
    const std::vector<SweepDot>& dots = drive.shown->dots;
    const std::size_t every = dots.size() / kMostSpots + 1;
    std::vector<double> distances;
    for (std::size_t i = 0; i < dots.size(); i += every) {
        const Rgb8 c = dots[i].color;
        spots_.push_back({on_map(drive, {dots[i].at.x, dots[i].at.y, dots[i].at.z}),
                          IM_COL32(c.r, c.g, c.b, 255)});
        distances.push_back(far_from(spots_.back().at, middle_));
    }
    if (path_ == drive.path) return;
    path_ = drive.path;
    reach_ = kLeastReach;
    for (const DriveRow& row : drive.sweeps)
        reach_ = std::max(reach_, far_from(on_map(drive, row.place), middle_));
    if (!distances.empty()) reach_ = std::max(reach_, quantile(distances, kReachShare));
    reach_ *= kAir;
}

void DriveMap::draw(const DriveState& drive, const Snapshot& snapshot, ImVec2 size,
                    Commands& commands) {
    size = {std::max(size.x, 4 * em()), std::max(size.y, 4 * em())};
    shape(drive);
    const MapView map{ImGui::GetCursorScreenPos(), size, middle_,
                      static_cast<double>(0.5F * std::min(size.x, size.y)) * zoom / reach_};
    const bool clicked = ImGui::InvisibleButton("##map", size);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 end{map.corner.x + size.x, map.corner.y + size.y};
    list.AddRectFilled(map.corner, end, theme().field);
    list.PushClipRect(map.corner, end, true);
    const float half = 0.5F * hairline();
    for (const Spot& spot : spots_)
        if (const ImVec2 p = map.on_screen(spot.at); map.shows(p))
            list.AddRectFilled({p.x - half, p.y - half}, {p.x + half, p.y + half}, spot.color);
    draw_way(list, drive, map);
    draw_cameras(list, drive, snapshot, map);
    draw_map_scale(list, map);
    list.PopClipRect();
    if (!ImGui::IsItemHovered()) return;
    const float wheel = ImGui::GetIO().MouseWheel;
    if (wheel != 0) zoom = std::clamp(zoom * std::pow(1.2, static_cast<double>(wheel)), 0.1, 100.0);
    if (ImGui::IsMouseDoubleClicked(0)) zoom = 1;
    const auto nearest = nearest_sweep_on_map(drive, map.at(ImGui::GetIO().MousePos));
    if (!nearest) return;
    if (clicked) commands.push("drive.sweep", {std::to_string(*nearest + 1)});
    tooltip(fmt::format("Map from above. Click to show sweep {}, the nearest; zoom with the wheel",
                        drive.sweeps[*nearest].name));
}

}  // namespace gs
