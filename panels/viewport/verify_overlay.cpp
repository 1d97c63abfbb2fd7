#include "panels/viewport/verify_overlay.h"

#include <cmath>
#include <cstdint>

#include "panels/state/verify_report.h"
#include "panels/widgets/theme.h"

namespace gs {
namespace {

/// The same place, direction and lens, at whatever size.
bool same_view(const Camera& a, const Camera& b) {
    if (a.model != b.model || a.width <= 0 || b.width <= 0) return false;
    for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t column = 0; column < 3; ++column)
            if (a.rotation.m[row][column] != b.rotation.m[row][column]) return false;
    const Vec3d apart = a.translation - b.translation;
    const double lens = a.fx / a.width - b.fx / b.width;
    return dot(apart, apart) == 0 && std::abs(lens) < 1e-3;
}

}  // namespace

void draw_verified(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                   PictureRect picture) {
    const VerifyReport* report = snapshot.verified.get();
    if (report == nullptr || !report->difference || snapshot.pictures == nullptr ||
        report->step != frame.step || !same_view(report->camera, frame.camera) ||
        report->width <= 0 || report->height <= 0)
        return;
    const PanelPicture map = snapshot.pictures->of("verified", report->serial, *report->difference);
    const float per_x = picture.width() / static_cast<float>(report->width),
                per_y = picture.height() / static_cast<float>(report->height);
    const auto at = [&](int x, int y) {
        return ImVec2{picture.a.x + per_x * static_cast<float>(x),
                      picture.a.y + per_y * static_cast<float>(y)};
    };
    const ImVec2 a = at(report->x0, report->y0), b = at(report->x1, report->y1);
    if (map.id != 0) list.AddImage((ImTextureID)(std::uintptr_t)map.id, a, b);
    list.AddRect(a, b, report->passed() ? theme().good : theme().error);
}

}  // namespace gs
