#include "panels/timeline/selection.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "panels/widgets/widgets.h"
#include "profiler/analysis/timeline_facts.h"

namespace gs {
namespace {

/// The span of that row that begins there; null when there is none.
const TraceSpan* kept_span(const TraceStore& trace, std::uint32_t track, std::size_t row,
                           std::int64_t from_ns) {
    if (track >= trace.tracks().size() || row >= trace.tracks()[track].rows.size()) return nullptr;
    const auto spans = trace.tracks()[track].rows[row].view();
    const auto at = std::ranges::lower_bound(spans, from_ns, {}, &TraceSpan::begin_ns);
    return at != spans.end() && at->begin_ns == from_ns ? &*at : nullptr;
}

}  // namespace

void SpanSelection::select(const TraceStore& trace, std::uint32_t track, std::size_t row,
                           std::int64_t begin_ns) {
    if (const TraceSpan* span = kept_span(trace, track, row, begin_ns))
        span_ = SelectedSpan{track, row, *span};
}

const TraceSpan* SpanSelection::kept(const TraceStore& trace) const {
    return span_ ? kept_span(trace, span_->track, span_->row, span_->span.begin_ns) : nullptr;
}

bool SpanSelection::select_neighbour(const TraceStore& trace, int step) {
    if (!span_ || span_->track >= trace.tracks().size()) return false;
    const TraceTrack& track = trace.tracks()[span_->track];
    if (span_->row >= track.rows.size()) return false;
    // On the same track, in any row: a stream's work uses any free row.
    const TraceSpan* best = nullptr;
    std::size_t best_row = 0;
    for (std::size_t row = 0; row < track.rows.size(); ++row) {
        const auto spans = track.rows[row].view();
        auto at = std::ranges::lower_bound(spans, span_->span.begin_ns, {}, &TraceSpan::begin_ns);
        if (step > 0) {
            while (at != spans.end() &&
                   (at->begin_ns <= span_->span.begin_ns || at->name != span_->span.name))
                ++at;
            if (at != spans.end() && (!best || at->begin_ns < best->begin_ns))
                best = &*at, best_row = row;
        } else {
            while (at != spans.begin() && (at - 1)->name != span_->span.name) --at;
            if (at != spans.begin() && (!best || (at - 1)->begin_ns > best->begin_ns))
                best = &*(at - 1), best_row = row;
        }
    }
    if (!best) return false;
    span_ = SelectedSpan{span_->track, best_row, *best};
    return true;
}

float SpanSelection::details_height() const { return span_ ? 5.4F * em() : 0; }

/// At the right of the name. True when the selection is to end.
bool SpanSelection::draw_buttons(const TraceStore& trace, float width, TimeAxis& axis,
                                 Commands& commands) {
    const std::string name(trace.name(span_->span.name));
    ImGui::SameLine(std::max(width - 14 * em(), 0.0F));
    if (ImGui::SmallButton("Find all")) commands.push("trace.find", {short_name(name)});
    tooltip("List all spans with this name and their distribution");
    ImGui::SameLine();
    if (ImGui::SmallButton("Zoom")) axis.zoom_to(span_->span.begin_ns, span_->span.end_ns);
    ImGui::SameLine();
    if (ImGui::SmallButton("Copy")) {
        std::string all = name + "\n";
        if (const TraceSpan* span = kept(trace))
            for (const SpanFact& fact : facts_of(trace, span_->track, span_->row, *span))
                all += fact.label + ": " + fact.value + "\n";
        ImGui::SetClipboardText(all.c_str());
    }
    ImGui::SameLine();
    const bool ended = ImGui::SmallButton("x");
    tooltip("Clear the selection (Esc); use left and right arrow for neighbours of the same name");
    return ended;
}

void SpanSelection::draw_details(const TraceStore& trace, const TimelineCanvas& canvas,
                                 SpanColors& colors, TimeAxis& axis, Commands& commands) {
    if (!span_) return;
    const float left = canvas.x - canvas.labels, width = canvas.labels + canvas.w;
    ImGui::SetCursorScreenPos({left, canvas.bottom() + 0.25F * em()});
    ImGui::BeginChild("##details", {width, details_height() - 0.25F * em()}, false,
                      ImGuiWindowFlags_AlwaysUseWindowPadding);
    const std::string name(trace.name(span_->span.name));
    colored_text(mix(colors.of(trace, trace.tracks()[span_->track].kind, span_->span.name),
                     theme().text, 0.45F),
                 fitted(name, width - 15 * em()));
    if (ImGui::IsItemHovered()) tooltip(name);
    const bool ended = draw_buttons(trace, width, axis, commands);
    const TraceSpan* span = kept(trace);
    if (!span) dim_text("no longer kept");
    float x = 0;
    for (const SpanFact& fact :
         span ? facts_of(trace, span_->track, span_->row, *span) : std::vector<SpanFact>()) {
        const float room =
            ImGui::CalcTextSize((fact.label + " " + fact.value).c_str()).x + 1.4F * em();
        if (x > 0 && x + room < width - em())
            ImGui::SameLine(x);
        else
            x = 0;
        dim_text(fact.label);
        ImGui::SameLine(0, 0.35F * em());
        text(fact.value);
        x += room;
    }
    ImGui::EndChild();
    if (ended) span_.reset();
}

}  // namespace gs
