#include "panels/viewport/overlay_parts.h"

#include "panels/state/cost_report.h"
#include "panels/state/inspection.h"
#include "panels/widgets/theme.h"

namespace gs {

void draw_cost_region(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                      PictureRect picture) {
    const CostReport* const report = snapshot.cost_report.get();
    if (!report || !report->region || !same_view(report->camera, frame.camera)) return;
    const auto at = [&](int x, int y) {
        return ImVec2{picture.a.x + picture.width() * static_cast<float>(x) /
                                        static_cast<float>(report->width),
                      picture.a.y + picture.height() * static_cast<float>(y) /
                                        static_cast<float>(report->height)};
    };
    const ImVec2 a = at(report->region->x0, report->region->y0),
                 b = at(report->region->x1, report->region->y1);
    list.AddRect(a, b, theme().window, 0, 0, 3 * hairline());
    list.AddRect(a, b, theme().accent, 0, 0, hairline());
}

}  // namespace gs
