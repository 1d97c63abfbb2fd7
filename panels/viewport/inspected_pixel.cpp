#include "panels/viewport/overlay_parts.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "panels/state/inspection.h"
#include "panels/widgets/theme.h"

namespace gs {
namespace {

constexpr int kEdgeCorners = 64;
constexpr double kLeastAlpha = 1.0 / 255.0;

const PixelEntry* marked_entry(const PixelInspection& inspection) {
    const auto row = inspection.pointed ? inspection.pointed : inspection.marked;
    if (!row || !inspection.pixel) return nullptr;
    for (const PixelEntry& entry : inspection.pixel->report.entries)
        if (entry.row == *row) return &entry;
    return nullptr;
}

void draw_outline(ImDrawList& list, const std::vector<ImVec2>& points, ImU32 color) {
    const auto count = static_cast<int>(points.size());
    list.AddPolyline(points.data(), count, theme().window, ImDrawFlags_Closed, 3 * hairline());
    list.AddPolyline(points.data(), count, color, ImDrawFlags_Closed, 1.5F * hairline());
}

}  // namespace

std::vector<Pixel> edge_of(const PixelEntry& entry) {
    const Sym2<double>& q = entry.conic;
    const double limit = 2 * std::log(entry.opacity / kLeastAlpha);
    const double det = q.xx * q.yy - q.xy * q.xy;
    if (!(limit > 0) || !(det > 0) || !(q.xx > 0)) return {};
    // q = L L^T, so that d = L^-T (cos, sin) sqrt(limit) runs along d^T q d = limit.
    const double a = std::sqrt(q.xx), b = q.xy / a, c = std::sqrt(det / q.xx);
    std::vector<Pixel> out;
    for (int i = 0; i < kEdgeCorners; ++i) {
        const double angle = 2 * std::numbers::pi * i / kEdgeCorners, r = std::sqrt(limit);
        const double y = r * std::sin(angle) / c, x = (r * std::cos(angle) - b * y) / a;
        out.push_back({entry.mean.x + x, entry.mean.y + y});
    }
    return out;
}

void draw_inspected_pixel(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                          ImVec2 corner, ImVec2 size) {
    if (!snapshot.inspection || !snapshot.inspection->pixel) return;
    const PixelAnswer& answer = *snapshot.inspection->pixel;
    if (!same_view(answer.camera, frame.camera)) return;
    const auto at = [&](double x, double y) {
        const double far = 50;  // pictures away, for almost flat ellipses
        return ImVec2{
            corner.x + static_cast<float>(std::clamp(x / answer.camera.width, -far, far)) * size.x,
            corner.y +
                static_cast<float>(std::clamp(y / answer.camera.height, -far, far)) * size.y};
    };
    const PixelReport& r = answer.report;
    const TileReport& tile = r.tile;
    list.AddRect(at(tile.x0, tile.y0), at(tile.x0 + tile.width, tile.y0 + tile.height),
                 with_alpha(theme().accent, 150), 0, 0, hairline());
    ImVec2 a = at(r.x, r.y), b = at(r.x + 1, r.y + 1);
    const float least = 5 * hairline(), more_x = std::max(0.0F, least - (b.x - a.x)) / 2,
                more_y = std::max(0.0F, least - (b.y - a.y)) / 2;
    a = {a.x - more_x, a.y - more_y};
    b = {b.x + more_x, b.y + more_y};
    list.AddRect({a.x - hairline(), a.y - hairline()}, {b.x + hairline(), b.y + hairline()},
                 theme().window, 0, 0, 2 * hairline());
    list.AddRect(a, b, IM_COL32_WHITE, 0, 0, hairline());
    const PixelEntry* const marked = marked_entry(*snapshot.inspection);
    if (!marked) return;
    std::vector<ImVec2> points;
    for (const Pixel& p : edge_of(*marked)) points.push_back(at(p.x, p.y));
    if (!points.empty()) draw_outline(list, points, theme().warning);
    list.AddCircle(at(marked->mean.x, marked->mean.y), 0.2F * em(), theme().warning, 0, 2);
}

}  // namespace gs
