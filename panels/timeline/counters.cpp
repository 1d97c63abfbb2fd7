#include "panels/timeline/counters.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace gs {
namespace {

constexpr std::size_t kSamplesPerPixel = 12;  // of a counter with more points than pixels

/// The range of a counter's values over one pixel column; of dense ones over some of them.
struct Column {
    double lo = 1e300, hi = -1e300, last = 0;
    void add(double value) {
        if (!std::isfinite(value)) return;
        lo = std::min(lo, value);
        hi = std::max(hi, value);
        last = value;
    }
};

}  // namespace

void draw_counter(const TraceStore& trace, std::uint32_t index, const TimelineCanvas& canvas,
                  float y, float height) {
    const auto points = trace.counters()[index].points.view();
    const auto before = [](const CounterPoint& p, std::int64_t t) { return p.time_ns < t; };
    auto at = std::lower_bound(points.begin(), points.end(), canvas.begin, before);
    if (at != points.begin()) --at;
    const auto stop = std::lower_bound(at, points.end(), canvas.end, before);
    std::vector<std::pair<float, Column>> columns;
    Column all;
    while (at != stop) {
        const float x = std::floor(canvas.clamped_x(at->time_ns));
        auto next = std::lower_bound(at, stop, canvas.time_at(x + 1), before);
        if (next == at) ++next;
        const auto count = static_cast<std::size_t>(next - at),
                   samples = std::min(count, kSamplesPerPixel);
        Column column;
        for (std::size_t k = 0; k < samples; ++k)
            column.add(at[static_cast<std::ptrdiff_t>(k * count / samples)].value);
        column.add((next - 1)->value);
        if (column.lo <= column.hi)
            columns.emplace_back(x, column), all.add(column.lo), all.add(column.hi);
        at = next;
    }
    if (columns.empty()) return;
    const double low = std::min(all.lo, 0.0), high = all.hi > low ? all.hi : low + 1;
    const auto y_of = [&](double v) {
        return y + height - 2 - static_cast<float>((v - low) / (high - low)) * (height - 4);
    };
    const float floor_y = y_of(0);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const auto& [x, column] = columns[i];
        const float next =
            i + 1 < columns.size() ? columns[i + 1].first : canvas.clamped_x(trace.end_ns());
        canvas.list->AddRectFilled({x, y_of(column.last)}, {std::max(next, x + 1), floor_y},
                                   with_alpha(theme().accent, 60));
        canvas.list->AddLine({x, y_of(column.last)}, {std::max(next, x + 1), y_of(column.last)},
                             theme().accent);
        if (column.hi > column.lo)
            canvas.list->AddLine({x, y_of(column.hi)}, {x, y_of(column.lo)}, theme().accent);
    }
    const std::string most = format_short(all.hi);
    canvas.list->AddText({canvas.x + 2, y - 1}, theme().dim, most.c_str());
    const ImVec2 mouse = ImGui::GetMousePos();
    if (!canvas.hovered || mouse.y < y || mouse.y > y + height || mouse.x < canvas.x) return;
    const auto after =
        std::upper_bound(points.begin(), points.end(), canvas.time_at(mouse.x),
                         [](std::int64_t t, const CounterPoint& p) { return t < p.time_ns; });
    if (after != points.begin())
        ImGui::SetTooltip("%s: %s", std::string(trace.name(trace.counters()[index].name)).c_str(),
                          format_number((after - 1)->value, 6).c_str());
}

}  // namespace gs
