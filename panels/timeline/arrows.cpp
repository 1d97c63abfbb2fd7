#include "panels/timeline/arrows.h"

#include <imgui.h>

#include <algorithm>

#include "panels/timeline/metrics.h"
#include "profiler/analysis/counterpart.h"
#include "profiler/analysis/timeline_facts.h"

namespace gs {
namespace {

constexpr std::size_t kMostArrows = 4;  // of a call that launched many

/// A line from where the launch began to where the work began, and the launch's outline.
void draw_arrow(const TimelineCanvas& canvas, std::optional<float> from_y, const TraceSpan& from,
                std::optional<float> to_y, const TraceSpan& to) {
    if (!from_y || !to_y) return;
    const float thick = std::max(1.5F, 0.1F * em()), height = row_height();
    const float left = canvas.clamped_x(from.begin_ns),
                right = std::max(canvas.clamped_x(from.end_ns), left + 2);
    canvas.list->PushClipRect({canvas.x, canvas.y}, {canvas.right(), canvas.bottom()}, true);
    canvas.list->AddRect({left, *from_y - 1}, {right, *from_y + height}, theme().text, 2, 0, thick);
    const bool below = *to_y > *from_y;
    const ImVec2 a{left, below ? *from_y + height : *from_y};
    const ImVec2 b{canvas.clamped_x(to.begin_ns), below ? *to_y : *to_y + height - 1};
    const float bend = 0.5F * (b.y - a.y), tip = 0.3F * em(),
                back = below ? -1.4F * tip : 1.4F * tip;
    canvas.list->AddBezierCubic(a, {a.x, a.y + bend}, {b.x, b.y - bend}, b, theme().text, thick);
    // Corners in the order that ImGui fills without a seam.
    const ImVec2 one{b.x - tip, b.y + back}, two{b.x + tip, b.y + back};
    canvas.list->AddTriangleFilled(b, below ? one : two, below ? two : one, theme().text);
    canvas.list->PopClipRect();
}

}  // namespace

const TrackPlaces::Place* TrackPlaces::of(std::uint32_t track) const {
    const auto at = std::ranges::find(items, track, &Place::track);
    return at == items.end() ? nullptr : &*at;
}

std::optional<float> TrackPlaces::y_of(std::uint32_t track, std::size_t row) const {
    const Place* place = of(track);
    if (!place) return std::nullopt;
    return place->y + (place->folded ? 0 : static_cast<float>(row) * row_height());
}

void draw_arrows(const TraceStore& trace, const TimelineCanvas& canvas, const TrackPlaces& places,
                 std::uint32_t track, std::size_t row, const TraceSpan& span) {
    const auto here = places.y_of(track, row);
    if (trace.tracks()[track].kind == TrackKind::gpu_stream) {
        const auto launch = trace.timeline().launching_span(track, row, span);
        if (launch.span)
            draw_arrow(canvas, places.y_of(launch.track, launch.row), *launch.span, here, span);
        return;
    }
    for (const LaunchedWork& work : launched_by(trace, track, row, span, kMostArrows))
        draw_arrow(canvas, here, span, places.y_of(work.track, work.row), *work.span);
    const auto other = counterpart_of(trace, track, span);
    if (!other.span) return;
    const auto there = places.y_of(other.track, other.row);
    if (pass_of(trace, span) == Pass::forward)
        draw_arrow(canvas, here, span, there, *other.span);
    else
        draw_arrow(canvas, there, *other.span, here, span);
}

}  // namespace gs
