#include "panels/viewport/overlay_parts.h"

#include <fmt/format.h>

#include <array>

#include "base/format.h"
#include "panels/state/drive_state.h"
#include "panels/viewport/overlays.h"
#include "panels/viewport/projection.h"
#include "panels/widgets/theme.h"

namespace gs {
namespace {

constexpr double kNearestDot = 1e-2;  // world units
constexpr double kAxisLength = 0.5;   // of what a camera's frustum is deep

const DriveState* drive_in(const Snapshot& snapshot) {
    return snapshot.drive && snapshot.drive->in_picture ? snapshot.drive.get() : nullptr;
}

void draw_dots(ImDrawList& list, const ShownSweep& sweep, const Snapshot& snapshot,
               const ViewFrame& frame, PictureRect picture) {
    const float half =
        0.5F * std::max(1.0F, static_cast<float>(snapshot.view.point_size)) * hairline();
    const std::size_t every = sweep.dots.size() / kMostSweepDots + 1;
    for (std::size_t i = 0; i < sweep.dots.size(); i += every) {
        const SweepDot& dot = sweep.dots[i];
        const auto at = project_point(frame.camera, {dot.at.x, dot.at.y, dot.at.z}, kNearestDot);
        if (!at || at->x < 0 || at->y < 0 || at->x >= frame.camera.width ||
            at->y >= frame.camera.height)
            continue;
        const ImVec2 p = on_screen(picture, frame.camera, *at);
        list.AddRectFilled({p.x - half, p.y - half}, {p.x + half, p.y + half},
                           IM_COL32(dot.color.r, dot.color.g, dot.color.b, 255));
    }
}

/// x red, y green, z blue, from `origin` along the columns of `world_from_it`.
void draw_frame_of(ImDrawList& list, const Mat3d& world_from_it, Vec3d origin, double length,
                   const char* name, float name_down, const ViewFrame& frame, PictureRect picture) {
    constexpr std::array<ImU32, 3> colors{color_rgb(0xe8704f), color_rgb(0x7fc97f),
                                          color_rgb(0x5aa9f0)};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto& m = world_from_it.m;
        const Vec3d end = origin + length * Vec3d{m[0][axis], m[1][axis], m[2][axis]};
        project_line(frame.camera, origin, end, kNearestDot, [&](const auto& line) {
            const ImVec2 a = on_screen(picture, frame.camera, line[0]),
                         b = on_screen(picture, frame.camera, line[1]);
            list.AddLine(a, b, theme().window, 4 * hairline());
            list.AddLine(a, b, colors[axis], 2 * hairline());
        });
    }
    if (const auto at = project_point(frame.camera, origin, kNearestDot)) {
        const ImVec2 corner = on_screen(picture, frame.camera, *at);
        draw_chip(list, {corner.x + 0.5F * em(), corner.y + name_down * em()}, name, theme().dim);
    }
}

void draw_rig(ImDrawList& list, const DriveState& drive, const Snapshot& snapshot,
              const ViewFrame& frame, PictureRect picture) {
    for (std::size_t i = 0; i + 1 < drive.way.size(); ++i)
        project_line(frame.camera, drive.way[i], drive.way[i + 1], kNearestDot,
                     [&](const auto& line) {
                         list.AddLine(on_screen(picture, frame.camera, line[0]),
                                      on_screen(picture, frame.camera, line[1]), theme().accent,
                                      2 * hairline());
                     });
    double size = 1;
    if (snapshot.scene && snapshot.cameras)
        size = kAxisLength * snapshot.view.frusta_size *
               frustum_size(*snapshot.scene, snapshot.cameras->size());
    const Pose& lidar = drive.world_from_sensor;
    draw_frame_of(list, lidar.rotation, lidar.translation, size, "lidar", 0.3F, frame, picture);
    if (drive.chosen >= drive.sweeps.size() || !snapshot.cameras) return;
    for (const std::size_t photo : drive.sweeps[drive.chosen].photos) {
        // The axes of the current camera would be a dot in the middle.
        if (photo >= snapshot.cameras->size() ||
            static_cast<int>(photo) == snapshot.view.capture_view)
            continue;
        const Camera& camera = (*snapshot.cameras)[photo].camera;
        draw_frame_of(list, transpose(camera.rotation), camera.position(), size, "camera", -1.7F,
                      frame, picture);
    }
}

}  // namespace

void draw_sweep_overlay(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                        PictureRect picture, bool photo_instead) {
    const DriveState* drive = drive_in(snapshot);
    if (!drive || !frame.camera.valid()) return;
    if (drive->shown) draw_dots(list, *drive->shown, snapshot, frame, picture);
    if (!photo_instead) draw_rig(list, *drive, snapshot, frame, picture);
}

std::string words_of_sweep(const Snapshot& snapshot) {
    const DriveState* drive = drive_in(snapshot);
    if (!drive || drive->sweeps.empty()) return {};
    const DriveRow& row = drive->sweeps[drive->chosen];
    std::string out = fmt::format("sweep {} at {:.2f} s", row.name, row.seconds);
    if (!drive->shown) return out;
    const SweepColors& c = drive->shown->colors;
    return out + fmt::format(": {} {} .. {}{}{}",
                             kSweepChannelNames[static_cast<std::size_t>(c.channel)],
                             format_number(c.lo, 2), format_number(c.hi, 2),
                             *c.unit == '\0' ? "" : " ", c.unit);
}

}  // namespace gs
