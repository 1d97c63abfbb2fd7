#include "panels/viewport/overlay_parts.h"

#include <cstdint>

#include "panels/state/inspection.h"
#include "panels/state/verify_report.h"
#include "panels/widgets/theme.h"

namespace gs {

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
