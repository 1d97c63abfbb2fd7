#include "panels/viewport/pose_arrows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/state/photo_looks.h"
#include "panels/viewport/frusta.h"
#include "panels/viewport/overlays.h"
#include "panels/viewport/projection.h"
#include "panels/widgets/theme.h"

namespace gs {
namespace {

constexpr double kLongestArrow = 1.5;  // x size of a frustum

/// The largest of 1, 2, 5, 10, 20, ... that is not above x; 1 at least.
double round_times(double x) {
    if (!(x > 1) || !std::isfinite(x)) return 1;
    const double ten = std::pow(10.0, std::floor(std::log10(x)));
    return ten * (x >= 5 * ten ? 5 : x >= 2 * ten ? 2 : 1);
}

PoseArrows arrows_in(const Snapshot& snapshot) {
    if (!snapshot.looks || !snapshot.looks->pose_arrows || !snapshot.view.frusta ||
        !snapshot.cameras || !snapshot.scene)
        return {};
    return pose_arrows(
        *snapshot.cameras, snapshot.looks->poses,
        snapshot.view.frusta_size * frustum_size(*snapshot.scene, snapshot.cameras->size()));
}

}  // namespace

PoseArrows pose_arrows(std::span<const CameraRow> rows, std::span<const PoseChange> changes,
                       double size) {
    PoseArrows out;
    double turned = 0;  // how far the middle of a frustum's picture has gone, at most
    for (const CameraRow& row : rows) {
        const PoseChange* const change = change_of(changes, row.view);
        if (!change) continue;
        const Vec3d looks = ahead(row.camera) - change->looked;
        out.longest = std::max(out.longest, change->length());
        out.widest = std::max(out.widest, change->degrees);
        turned = std::max(turned, size * std::sqrt(dot(looks, looks)));
    }
    if (out.longest > 0) out.times_moved = round_times(kLongestArrow * size / out.longest);
    if (turned > 0) out.times_turned = round_times(kLongestArrow * size / turned);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const PoseChange* const change = change_of(changes, rows[i].view);
        if (!change || (change->degrees == 0 && change->length() == 0)) continue;
        const Vec3d now = rows[i].camera.position(), stood = now - change->move;
        const Vec3d looked = size * change->looked, looks = size * ahead(rows[i].camera);
        out.arrows.push_back({i,
                              {stood, stood + out.times_moved * change->move},
                              {now + looked, now + looked + out.times_turned * (looks - looked)}});
    }
    return out;
}

std::string words_of(const PoseArrows& arrows) {
    if (arrows.arrows.empty()) return {};
    return fmt::format("poses corrected by up to {} units and {} deg; arrows {}x and {}x",
                       format_number(arrows.longest, 2), format_number(arrows.widest, 2),
                       arrows.times_moved, arrows.times_turned);
}

void draw_pose_arrows(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                      PictureRect picture) {
    const PoseArrows arrows = arrows_in(snapshot);
    const auto draw = [&](const std::array<Vec3d, 2>& ends, ImU32 color) {
        project_line(frame.camera, ends[0], ends[1], 1e-3, [&](const auto& line) {
            const ImVec2 a = on_screen(picture, frame.camera, line[0]),
                         b = on_screen(picture, frame.camera, line[1]);
            list.AddLine(a, b, theme().window, 3.5F * hairline());
            list.AddLine(a, b, color, 1.75F * hairline());
        });
        if (const auto tip = project_point(frame.camera, ends[1], 1e-3))
            list.AddCircleFilled(on_screen(picture, frame.camera, *tip), 0.16F * em(), color);
    };
    for (const PoseArrow& arrow : arrows.arrows) {
        if (static_cast<int>((*snapshot.cameras)[arrow.row].view) == snapshot.view.capture_view)
            continue;  // its own arrows would cross the whole picture
        draw(arrow.move, theme().accent);
        draw(arrow.look, theme().warning);
    }
}

std::string words_of_pose_arrows(const Snapshot& snapshot) { return words_of(arrows_in(snapshot)); }

}  // namespace gs
