#include "panels/timeline/timeline_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/timeline/spans.h"
#include "profiler/analysis/pauses.h"
#include "profiler/analysis/timeline_facts.h"

namespace gs {
namespace {

constexpr std::size_t kTooltipFacts = 12;
constexpr std::uint32_t kMostCounted =
    200'000;  // spans of a block that are added up while the mouse rests on it

/// The share of a block's recorded time that its spans take, exactly.
std::string busy_text(const TraceStore& trace, const TraceTrack& track,
                      std::span<const TraceSpan> spans, const SpanBlock& block) {
    if (block.count > kMostCounted) return {};
    std::int64_t busy = 0;
    for (std::uint32_t i = 0; i < block.count && block.first + i < spans.size(); ++i)
        busy += spans[block.first + i].length_ns();
    const std::int64_t missing = length_within(
        pauses_of(trace, track.process, unrecorded_on(track)), {block.begin_ns, block.end_ns});
    const std::int64_t length = block.end_ns - block.begin_ns - missing;
    return fmt::format(
        ", busy {}{}",
        format_share(static_cast<double>(busy) /
                     static_cast<double>(std::max<std::int64_t>(length, 1))),
        missing > 0 ? fmt::format(" of the {} recorded", format_ns(static_cast<double>(length)))
                    : std::string());
}

void span_tooltip(const TraceStore& trace, const PointedSpan& pointed) {
    const SpanBlock& block = pointed.block;
    const SpanPlace& place = pointed.place;
    const TraceTrack& track = trace.tracks()[place.track];
    const std::string_view name = trace.name(block.name);
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(32 * em());
    const auto spans =
        place.row < track.rows.size() ? track.rows[place.row].view() : std::span<const TraceSpan>();
    const ImU32 color =
        mix(stage_color(place.kind == TrackKind::gpu_stream ? trace.names().gpu_stage(block.name)
                                                            : trace.names().stage(block.name)),
            theme().text, 0.4F);
    if (block.count > 1) {
        text(fmt::format("{} spans too small to tell apart", format_count(block.count)));
        dim_text(
            fmt::format("within {}{}; many of them {}",
                        format_ns(static_cast<double>(block.end_ns - block.begin_ns)),
                        place.projected ? std::string() : busy_text(trace, track, spans, block),
                        short_name(name)));
        dim_text("click to zoom in");
    } else if (place.projected) {
        colored_text(color, name);
        text(format_ns(static_cast<double>(block.end_ns - block.begin_ns)) +
             " of GPU time, first to last piece of work");
        dim_text("the range on the GPU; click to zoom to it");
    } else if (pointed.open) {
        colored_text(color, name);
        text("still running, for " +
             format_ns(static_cast<double>(trace.sources().read_ns() - block.begin_ns)));
    } else if (block.first < spans.size()) {
        colored_text(color, name);
        const auto facts = facts_of(trace, place.track, place.row, spans[block.first]);
        for (std::size_t i = 0; i < std::min(facts.size(), kTooltipFacts); ++i)
            dim_text(facts[i].label + ": " + facts[i].value);
        dim_text("click to select, double click to zoom");
    }
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
}

std::string entry_label(const TraceEntry& entry) {
    if (entry.store || !entry.problem.empty()) return entry.name;
    return std::isfinite(entry.progress)
               ? fmt::format("{} ({:.0f} %)", entry.name, 100 * entry.progress)
               : entry.name;
}

/// The choice of the trace to show, where there are several.
void draw_sources(const Snapshot& snapshot, Commands& commands) {
    if (snapshot.traces.size() < 2) return;
    const TraceEntry* shown = snapshot.shown_entry();
    ImGui::SetNextItemWidth(11 * em());
    if (ImGui::BeginCombo("##source", shown ? entry_label(*shown).c_str() : "")) {
        for (const TraceEntry& entry : snapshot.traces) {
            ImGui::PushID(static_cast<int>(entry.id));
            if (ImGui::Selectable(entry_label(entry).c_str(), entry.id == snapshot.shown_trace))
                commands.push("trace.show", {std::to_string(entry.id)});
            if (!entry.detail.empty()) tooltip(entry.detail);
            ImGui::PopID();
        }
        ImGui::EndCombo();
    }
    tooltip("Trace to show: this session, an open file or an attached process");
    ImGui::SameLine();
    if (shown && !shown->own) {
        const bool reads = !shown->store && shown->problem.empty();
        if (ImGui::Button(reads ? "Cancel" : "Close"))
            commands.push("trace.close", {std::to_string(shown->id)});
        tooltip(reads ? "Stop reading this file" : "Close this trace");
        ImGui::SameLine();
    }
}

}  // namespace

/// For another trace, clears the state of the last one and shows all of the new one.
void TimelinePanel::follow_trace(const Snapshot& snapshot, const TraceStore& trace) {
    const TraceEntry* entry = snapshot.shown_entry();
    const bool was_live = std::exchange(live_, !entry || entry->live);
    if (shown_ == &trace && shown_id_ == snapshot.shown_trace) {
        if (was_live && !live_) axis.rest_at_end(trace);
        return;
    }
    const bool first = shown_ == nullptr;
    shown_ = &trace;
    shown_id_ = snapshot.shown_trace;
    rows_.forget();
    bars_.forget();
    end_selection();
    measure_.forget();
    if (!first) view_.selection.reset();
    if (!live_)
        axis.zoom_to_all(trace);
    else if (!first)
        axis.follow = true, axis.span_ns = TimeAxis().span_ns;
}

/// Goes to the place requested by another panel or a command.
void TimelinePanel::jump(const TraceStore& trace) {
    if (!view_.jump) return;
    const TracePlace place = *view_.jump;
    view_.jump.reset();
    axis.zoom_to(place.range.begin_ns, place.range.end_ns);
    if (place.track < trace.tracks().size() && rows_.rows().reveal(trace, place.track))
        select(trace, place.track, place.row, place.range.begin_ns);
}

void TimelinePanel::draw_controls(const Snapshot& snapshot, const TraceStore& trace,
                                  Commands& commands) {
    draw_sources(snapshot, commands);
    if (icon_button("follow", axis.follow ? Icon::pause : Icon::play,
                    axis.follow ? "Stop following: keep this moment in view"
                                : "Follow the newest measurements"))
        axis.follow = !axis.follow;
    ImGui::SameLine();
    if (ImGui::Button("All")) axis.zoom_to_all(trace);
    tooltip("Show the whole trace (F)");
    ImGui::SameLine();
    if (ImGui::Button("Last iteration")) bars_.show_last(axis);
    ImGui::SameLine();
    if (icon_text_button(Icon::search, "Find",
                         "List the spans of a name with their distribution (Ctrl+F)"))
        commands.push("trace.find");
    ImGui::SameLine();
    if (lit_button("Measure", measure_.on,
                   "Drag to select a time range and see its length and contents (M, or drag with "
                   "Shift). Statistics, flame graph, find and compare then use it; Esc clears it"))
        measure_.on = !measure_.on;
    ImGui::SameLine();
    rows_.draw_choices();
    ImGui::SameLine();
    rows_.draw_filter();
    ImGui::SameLine();
    if (icon_button("export", Icon::save, "Save everything as a Perfetto trace (ui.perfetto.dev)"))
        commands.push("browse", {"trace.save"});
    ImGui::SameLine();
    if (const TraceEntry* entry = snapshot.shown_entry();
        entry && !entry->own && !entry->problem.empty()) {
        const std::string problem = fitted(entry->problem, ImGui::GetContentRegionAvail().x);
        colored_text(theme().warning, problem);
        if (problem != entry->problem) tooltip(entry->problem);
        return;
    }
    const std::string state = fmt::format(
        "{} shown, {} spans{}{}{}", format_ns(axis.span_ns),
        format_short(static_cast<double>(trace.span_count())),
        trace.samples().empty()
            ? ""
            : ", " + format_short(static_cast<double>(trace.samples().count())) + " samples",
        trace.timeline().forgotten() > 0 ? ", older ones discarded" : "",
        trace.sources().loss().total() > 0
            ? ", " + format_short(static_cast<double>(trace.sources().loss().total())) + " lost"
            : std::string());
    dim_text(fitted(state, ImGui::GetContentRegionAvail().x));
}

TimelineCanvas TimelinePanel::lay_out() const {
    const ImVec2 corner = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    TimelineCanvas canvas;
    const float head = bars_height() + ruler_height();
    canvas.labels = label_width(room.x);
    canvas.x = corner.x + canvas.labels;
    canvas.y = corner.y + head;
    canvas.w = std::max(room.x - canvas.labels, 1.0F);
    canvas.h = std::max(
        room.y - head - std::max(selection_.details_height(), sample_.details_height()), 1.0F);
    canvas.list = ImGui::GetWindowDrawList();
    return canvas;
}

void TimelinePanel::draw_tooltip(const TraceStore& trace) const {
    if (const auto& span = rows_.spans().pointed())
        span_tooltip(trace, *span);
    else if (const auto& samples = rows_.samples().pointed())
        samples_tooltip(trace, *samples);
    else
        rows_.pauses().draw_tooltip();
}

void TimelinePanel::draw(const Snapshot& snapshot, Commands& commands) {
    hovered_ = false;
    busy_ = false;
    const TraceStore* trace = snapshot.shown();
    if (!trace || (trace->tracks().empty() && trace->samples().empty())) {
        draw_sources(snapshot, commands);
        const TraceEntry* entry = snapshot.shown_entry();
        empty_note(entry && !entry->problem.empty() ? entry->problem
                   : entry && !entry->store         ? "Reading " + entry_label(*entry)
                   : entry && !entry->own           ? "Waiting for records from " + entry->name
                                                    : "Train or open a trace to see spans here");
        return;
    }
    follow_trace(snapshot, *trace);
    jump(*trace);
    const auto& span = selection_.span();
    bars_.gather(*trace, span && span->track < trace->tracks().size()
                             ? std::optional(trace->tracks()[span->track].process)
                             : std::nullopt);
    draw_controls(snapshot, *trace, commands);
    const float top = ImGui::GetCursorScreenPos().y, left = ImGui::GetCursorScreenPos().x;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    TimelineCanvas canvas = lay_out();
    if (room.x < canvas.labels + 4 * em() || room.y < bars_height() + ruler_height() + 2 * em())
        return;
    axis.settle(*trace, canvas);
    bars_.draw(canvas, top, axis);
    draw_ruler(*trace, canvas);
    ImGui::SetCursorScreenPos({left, canvas.y});
    ImGui::InvisibleButton("##spans", {room.x, canvas.h});
    canvas.hovered = hovered_ = ImGui::IsItemHovered();
    const bool active = ImGui::IsItemActive(), clicks = dragged_ < 3;
    busy_ = !rows_.draw(*trace, canvas, selection_, sample_.sample(), live_, clicks);
    if (clicks && !measure_.dragging()) draw_tooltip(*trace);
    draw_losses(*trace, canvas);
    steer(*trace, canvas, active);
    if (!measure_.draw(*trace, canvas)) busy_ = true;
    selection_.draw_details(*trace, canvas, rows_.spans().colors(), axis, commands);
    sample_.draw_details(*trace, canvas, axis, commands);
}

}  // namespace gs
