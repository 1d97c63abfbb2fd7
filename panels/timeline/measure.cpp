#include "panels/timeline/measure.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/timeline/paint.h"

namespace gs {
namespace {

constexpr double kSliceMs = 2;         // of a frame, for adding up a selection
constexpr std::size_t kSumsShown = 8;  // of a selection

/// Time of a stage, or of one name that stands for none, in the selection.
struct Part {
    std::uint32_t name = 0;
    Stage stage = Stage::other;
    std::int64_t self_ns = 0, gpu_ns = 0;
    std::int64_t all_ns() const { return self_ns + gpu_ns; }
};

/// Those with the most time first.
std::vector<Part> parts_of(const NameTable& sums) {
    std::map<std::pair<Stage, std::uint32_t>, Part> parts;
    for (const NameFigures& row : sums.rows()) {
        if (row.kind == TrackKind::api || row.kind == TrackKind::overhead) continue;
        const std::uint32_t name = row.stage == Stage::other ? row.name : 0;
        Part& part = parts[{row.stage, name}];
        part.name = name;
        part.stage = row.stage;
        (row.kind == TrackKind::gpu_stream ? part.gpu_ns : part.self_ns) += row.self_ns;
    }
    std::vector<Part> out;
    for (const auto& [key, part] : parts)
        if (part.all_ns() > 0) out.push_back(part);
    std::ranges::stable_sort(out, std::greater{}, &Part::all_ns);
    return out;
}

}  // namespace

bool TimeMeasure::drop() {
    if (anchor_)
        anchor_.reset();
    else if (on)
        on = false;
    else if (view_.selection)
        view_.selection.reset();
    else
        return false;
    return true;
}

bool TimeMeasure::draw(const TraceStore& trace, const TimelineCanvas& canvas) {
    if (!view_.selection) {
        sums_of_.reset();
        return true;
    }
    const TimeRange range = *view_.selection;
    if (sums_of_ != range) {
        sums_of_ = range;
        sums_ = NameTable(trace, range, {});
    }
    const bool complete = sums_.advance(trace, kSliceMs);
    const float left = canvas.clamped_x(range.begin_ns), right = canvas.clamped_x(range.end_ns);
    canvas.list->PushClipRect({canvas.x, canvas.y - ruler_height()},
                              {canvas.right(), canvas.bottom()}, true);
    // Dims the area outside.
    const ImU32 veil = with_alpha(theme().window, 130);
    if (left > canvas.x)
        canvas.list->AddRectFilled({canvas.x, canvas.y}, {left, canvas.bottom()}, veil);
    if (right < canvas.right())
        canvas.list->AddRectFilled({right, canvas.y}, {canvas.right(), canvas.bottom()}, veil);
    for (const float x : {left, right})
        canvas.list->AddLine({x, canvas.y - 0.4F * em()}, {x, canvas.bottom()}, theme().accent,
                             1.5F);
    canvas.list->PopClipRect();
    draw_note(trace, canvas, left, right);
    return complete;
}

/// How long the stretch is, and its stages and other ranges.
std::vector<TimeMeasure::Line> TimeMeasure::lines(const TraceStore& trace) const {
    std::uint64_t spans = 0;
    for (const NameFigures& row : sums_.rows()) spans += row.count;
    std::vector<Line> out{
        {format_ns(sums_of_->length_ns()),
         sums_.done() ? format_short(static_cast<double>(spans)) + " spans" : "adding up",
         theme().text}};
    const std::vector<Part> parts = parts_of(sums_);
    for (const Part& part : std::span(parts).first(std::min(parts.size(), kSumsShown))) {
        std::string value;
        if (part.self_ns > 0) value = format_ns(static_cast<double>(part.self_ns));
        if (part.gpu_ns > 0)
            value +=
                (value.empty() ? "GPU " : ", GPU ") + format_ns(static_cast<double>(part.gpu_ns));
        const bool staged = part.stage != Stage::other;
        out.push_back({staged ? name_of(part.stage) : short_name(trace.name(part.name)), value,
                       staged ? stage_color(part.stage) : name_color(trace.name(part.name))});
    }
    if (parts.size() > kSumsShown)
        out.push_back({fmt::format("{} more", parts.size() - kSumsShown), "", theme().dim});
    return out;
}

/// A note at the stretch's top.
void TimeMeasure::draw_note(const TraceStore& trace, const TimelineCanvas& canvas, float left,
                            float right) const {
    if (right < canvas.x || left > canvas.right()) return;
    std::vector<Line> lines = this->lines(trace);
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
    // Beside the selection if it fits there, else inside it.
    const float x = right + 4 + width < canvas.right() ? right + 4
                    : left - 4 - width > canvas.x
                        ? left - 4 - width
                        : std::max(canvas.x + 2, canvas.right() - width - 2);
    const ImVec2 a{std::round(x), canvas.y + 2};
    ImDrawList& list = *canvas.list;
    list.AddRectFilled(a, {a.x + width, a.y + height}, with_alpha(theme().panel, 240), 3);
    list.AddRect(a, {a.x + width, a.y + height}, theme().grid, 3);
    float y = a.y + pad;
    for (const Line& line : lines) {
        if (&line != &lines.front())
            list.AddRectFilled({a.x + pad, y + 0.25F * em()},
                               {a.x + pad + 0.5F * em(), y + 0.85F * em()}, line.color, 2);
        const float at = &line == &lines.front() ? a.x + pad : a.x + pad + swatch;
        list.AddText({at, y}, &line == &lines.front() ? theme().text : theme().dim,
                     line.text.c_str());
        list.AddText({a.x + width - pad - ImGui::CalcTextSize(line.value.c_str()).x, y},
                     theme().text, line.value.c_str());
        y += 1.15F * em();
    }
}

}  // namespace gs
