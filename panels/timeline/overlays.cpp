// What lies over the timeline's rows: the selected stretch of time with what it went into, arrows
// between launches and work.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/timeline/timeline_panel.h"
#include "profiler/analysis/timeline_facts.h"

namespace gs {
namespace {

constexpr double kSliceMs = 2;         // of a frame, for adding up a selection
constexpr std::size_t kSumsShown = 8;  // stages of a selection

}  // namespace

/// Where a row of spans is on the screen, also when it is scrolled out of view; nothing when it is
/// not shown.
std::optional<float> TimelinePanel::screen_y(std::uint32_t track, std::size_t row) const {
    for (const Drawn& drawn : drawn_)
        if (drawn.track == track)
            return drawn.y + (drawn.folded ? 0 : static_cast<float>(row) * row_height());
    return std::nullopt;
}

void TimelinePanel::draw_selection(const TraceStore& trace, const TimelineCanvas& canvas) {
    if (!view_.selection) {
        sums_of_.reset();
        return;
    }
    const TimeRange range = *view_.selection;
    if (sums_of_ != range) {
        sums_of_ = range;
        sums_ = StageSums(trace, range);
    }
    const bool complete = sums_.advance(trace, kSliceMs);
    busy_ |= !complete;
    const float left = canvas.clamped_x(range.begin_ns), right = canvas.clamped_x(range.end_ns);
    canvas.list->PushClipRect({canvas.x, canvas.y - ruler_height()},
                              {canvas.right(), canvas.bottom()}, true);
    // What is outside steps back.
    const ImU32 veil = with_alpha(kWindowColor, 130);
    if (left > canvas.x)
        canvas.list->AddRectFilled({canvas.x, canvas.y}, {left, canvas.bottom()}, veil);
    if (right < canvas.right())
        canvas.list->AddRectFilled({right, canvas.y}, {canvas.right(), canvas.bottom()}, veil);
    for (const float x : {left, right})
        canvas.list->AddLine({x, canvas.y - 0.4F * em()}, {x, canvas.bottom()}, kAccentColor, 1.5F);
    canvas.list->PopClipRect();
    draw_sums(trace, canvas, left, right);
}

/// A note at the selection's top: how long it is, and its stages.
void TimelinePanel::draw_sums(const TraceStore&, const TimelineCanvas& canvas, float left,
                              float right) const {
    if (right < canvas.x || left > canvas.right()) return;
    struct Line {
        std::string text, value;
        ImU32 color;
    };
    const double length = sums_of_->length_ns();
    std::vector<Line> lines{
        {format_ns(length),
         sums_.done() ? format_short(static_cast<double>(sums_.spans())) + " spans" : "adding up",
         kTextColor}};
    std::vector<std::size_t> stages;
    for (std::size_t s = 0; s < kStageCount; ++s)
        if (sums_.sums()[s].self_ns + sums_.sums()[s].gpu_ns > 0) stages.push_back(s);
    std::sort(stages.begin(), stages.end(), [&](std::size_t a, std::size_t b) {
        constexpr auto kOther = static_cast<std::size_t>(Stage::other);
        if ((a == kOther) != (b == kOther)) return b == kOther;
        return sums_.sums()[a].self_ns + sums_.sums()[a].gpu_ns >
               sums_.sums()[b].self_ns + sums_.sums()[b].gpu_ns;
    });
    for (std::size_t i = 0; i < std::min(stages.size(), kSumsShown); ++i) {
        const StageSum& sum = sums_.sums()[stages[i]];
        std::string value;
        if (sum.self_ns > 0) value = format_ns(static_cast<double>(sum.self_ns));
        if (sum.gpu_ns > 0)
            value +=
                (value.empty() ? "GPU " : ", GPU ") + format_ns(static_cast<double>(sum.gpu_ns));
        lines.push_back(
            {kStageNames[stages[i]], value, stage_color(static_cast<Stage>(stages[i]))});
    }
    if (stages.size() > kSumsShown)
        lines.push_back({fmt::format("{} more", stages.size() - kSumsShown), "", kDimColor});
    float names = 0, values = 0;
    for (const Line& line : lines) {
        names = std::max(names, ImGui::CalcTextSize(line.text.c_str()).x);
        values = std::max(values, ImGui::CalcTextSize(line.value.c_str()).x);
    }
    const float pad = 0.4F * em(), swatch = 0.8F * em(),
                width = swatch + names + values + em() + 2 * pad;
    const float fitting = std::floor((canvas.h - 2 * pad) / (1.15F * em()));
    if (fitting < 1) return;
    if (lines.size() > static_cast<std::size_t>(fitting))
        lines.resize(static_cast<std::size_t>(fitting));
    const float height = static_cast<float>(lines.size()) * 1.15F * em() + 2 * pad;
    // Beside the selection, where it is in nobody's way; inside it when there is no room.
    const float x = right + 4 + width < canvas.right() ? right + 4
                    : left - 4 - width > canvas.x
                        ? left - 4 - width
                        : std::max(canvas.x + 2, canvas.right() - width - 2);
    const ImVec2 a{std::round(x), canvas.y + 2};
    ImDrawList& list = *canvas.list;
    list.AddRectFilled(a, {a.x + width, a.y + height}, with_alpha(kPanelColor, 240), 3);
    list.AddRect(a, {a.x + width, a.y + height}, kGridColor, 3);
    float y = a.y + pad;
    for (const Line& line : lines) {
        if (&line != &lines.front())
            list.AddRectFilled({a.x + pad, y + 0.25F * em()},
                               {a.x + pad + 0.5F * em(), y + 0.85F * em()}, line.color, 2);
        const float at = &line == &lines.front() ? a.x + pad : a.x + pad + swatch;
        list.AddText({at, y}, &line == &lines.front() ? kTextColor : kDimColor, line.text.c_str());
        list.AddText({a.x + width - pad - ImGui::CalcTextSize(line.value.c_str()).x, y}, kTextColor,
                     line.value.c_str());
        y += 1.15F * em();
    }
}

/// From the span under the mouse, and from the selected one: to what launched it, or to what it
/// launched.
void TimelinePanel::draw_arrows(const TraceStore& trace, const TimelineCanvas& canvas) const {
    const auto of = [&](std::uint32_t track, std::size_t row, const TraceSpan& span) {
        if (trace.tracks()[track].kind == TrackKind::gpu_stream) {
            const auto launch = trace.timeline().launching_span(track, row, span);
            if (launch.span)
                draw_arrow(canvas, launch.track, launch.row, *launch.span, track, row, span);
        } else {
            for (const LaunchedWork& work : launched_by(trace, track, row, span, 4))
                draw_arrow(canvas, track, row, span, work.track, work.row, *work.span);
        }
    };
    if (pointed_ && !pointed_->open && !pointed_->place.projected && pointed_->block.count == 1) {
        const auto spans = trace.tracks()[pointed_->place.track].rows[pointed_->place.row].view();
        if (pointed_->block.first < spans.size())
            of(pointed_->place.track, pointed_->place.row, spans[pointed_->block.first]);
    }
    if (!selected_ || selected_->track >= trace.tracks().size()) return;
    if (const TraceSpan* span =
            kept_span(trace, selected_->track, selected_->row, selected_->span.begin_ns))
        of(selected_->track, selected_->row, *span);
}

/// A line from where the launch began to where the work began, and the launch's outline.
void TimelinePanel::draw_arrow(const TimelineCanvas& canvas, std::uint32_t from_track,
                               std::size_t from_row, const TraceSpan& from, std::uint32_t to_track,
                               std::size_t to_row, const TraceSpan& to) const {
    const auto from_y = screen_y(from_track, from_row), to_y = screen_y(to_track, to_row);
    if (!from_y || !to_y) return;
    const float thick = std::max(1.5F, 0.1F * em()), height = row_height();
    const float left = canvas.clamped_x(from.begin_ns),
                right = std::max(canvas.clamped_x(from.end_ns), left + 2);
    canvas.list->PushClipRect({canvas.x, canvas.y}, {canvas.right(), canvas.bottom()}, true);
    canvas.list->AddRect({left, *from_y - 1}, {right, *from_y + height}, kTextColor, 2, 0, thick);
    const bool below = *to_y > *from_y;
    const ImVec2 a{left, below ? *from_y + height : *from_y};
    const ImVec2 b{canvas.clamped_x(to.begin_ns), below ? *to_y : *to_y + height - 1};
    const float bend = 0.5F * (b.y - a.y), tip = 0.3F * em(),
                back = below ? -1.4F * tip : 1.4F * tip;
    canvas.list->AddBezierCubic(a, {a.x, a.y + bend}, {b.x, b.y - bend}, b, kTextColor, thick);
    // Corners in the order that ImGui fills without a seam.
    const ImVec2 one{b.x - tip, b.y + back}, two{b.x + tip, b.y + back};
    canvas.list->AddTriangleFilled(b, below ? one : two, below ? two : one, kTextColor);
    canvas.list->PopClipRect();
}

}  // namespace gs
