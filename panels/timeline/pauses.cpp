#include "panels/timeline/pauses.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "panels/widgets/theme.h"

namespace gs {
namespace {

/// Slanted lines on a grid fixed to the screen.
void hatch(const TimelineCanvas& canvas, float left, float right, float y, float bottom) {
    ImDrawList& list = *canvas.list;
    list.AddRectFilled({left, y}, {right, bottom}, with_alpha(theme().text, 16));
    const float step = 0.6F * em(), lean = bottom - y;
    list.PushClipRect({left, y}, {right, bottom}, true);
    for (float x = std::floor((left - lean) / step) * step; x < right; x += step)
        list.AddLine({x, bottom}, {x + lean, y}, with_alpha(theme().text, 44));
    list.PopClipRect();
}

}  // namespace

const PauseShades::OfProcess& PauseShades::of_process(const TraceStore& trace,
                                                      std::uint32_t process) {
    const auto [place, added] = of_process_.try_emplace(process);
    if (!added) return place->second;
    Intervals gpu = pauses_of(trace, process, Unrecorded::gpu);
    Intervals ranges = pauses_of(trace, process, Unrecorded::ranges);
    Intervals inner;
    if (!gpu.empty())
        inner = intersection_of(gpu, gaps_of(ranges, {gpu.front().begin, gpu.back().end}));
    return place->second = {std::move(gpu), std::move(ranges), std::move(inner)};
}

const Intervals& PauseShades::of(const TraceStore& trace, const TraceTrack& track) {
    return of_process(trace, track.process)[static_cast<std::size_t>(unrecorded_on(track))];
}

void PauseShades::draw(const TraceStore& trace, const TimelineCanvas& canvas,
                       const TraceTrack& track, float y, float inner_y, float bottom) {
    const OfProcess& pauses = of_process(trace, track.process);
    const Unrecorded what = unrecorded_on(track);
    shade(canvas, pauses[static_cast<std::size_t>(what)], y, bottom);
    if (what == Unrecorded::ranges && inner_y < bottom)
        shade(canvas, pauses[kInnerOnly], inner_y, bottom);
}

void PauseShades::shade(const TimelineCanvas& canvas, const Intervals& pauses, float y,
                        float bottom) {
    const auto first = std::ranges::upper_bound(pauses, canvas.begin, {}, &Interval::end);
    const ImVec2 mouse = ImGui::GetMousePos();
    float drawn_to = canvas.x - 1;
    for (auto pause = first; pause != pauses.end() && pause->begin < canvas.end; ++pause) {
        const float left = std::max(canvas.clamped_x(pause->begin), drawn_to),
                    right =
                        std::max(canvas.clamped_x(pause->end), canvas.clamped_x(pause->begin) + 1);
        if (right <= drawn_to) continue;
        hatch(canvas, left, right, y, bottom);
        drawn_to = right;
        if (canvas.hovered && mouse.x >= std::max(left, canvas.x) && mouse.x < right &&
            mouse.y >= y && mouse.y < bottom)
            pointed_ = *pause;
    }
}

void PauseShades::draw_tooltip() const {
    if (!pointed_) return;
    ImGui::SetTooltip(
        "not recorded for %s: recording was over its budget (--budget)\n"
        "this time is unknown, not idle",
        format_ns(static_cast<double>(pointed_->length())).c_str());
}

}  // namespace gs
