#include "panels/timeline/timeline_panel.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/widgets/plot.h"

namespace gs {
namespace {

constexpr std::int64_t kRulerPeriodNs =
    1'000'000'000'000;  // the ruler counts from the last multiple of this

std::string relative_time(std::int64_t ns, double step_ns) {
    const double t = static_cast<double>(ns);
    if (step_ns >= 1e9) return fmt::format("{:.0f} s", t * 1e-9);
    if (step_ns >= 1e6) return fmt::format("{:.3f} s", t * 1e-9);
    if (step_ns >= 1e3) return fmt::format("{:.3f} ms", t * 1e-6);
    return fmt::format("{:.3f} us", t * 1e-3);
}

std::string entry_label(const TraceEntry& entry) {
    if (entry.store || !entry.problem.empty()) return entry.name;
    return std::isfinite(entry.progress)
               ? fmt::format("{} ({:.0f} %)", entry.name, 100 * entry.progress)
               : entry.name;
}

}  // namespace

void TimelinePanel::zoom_to(std::int64_t from, std::int64_t to, double margin) {
    const auto length = static_cast<double>(std::max<std::int64_t>(to - from, 1));
    span_ns = std::clamp((1 + margin) * length, kLeastSpanNs, kMostSpanNs);
    begin_ns = from - static_cast<std::int64_t>(0.5 * (span_ns - length));
    follow = false;
}

void TimelinePanel::forget() {
    colors_.forget();
    projections_.clear();
    selected_.reset();
    pointed_.reset();
    anchor_.reset();
    sums_of_.reset();
    bars_ = {};
    drawn_.clear();
}

/// Another trace: what was remembered of the last one goes, and all of it comes into view.
void TimelinePanel::follow_trace(const Snapshot& snapshot, const TraceStore& trace) {
    const TraceEntry* entry = snapshot.shown_entry();
    live_ = !entry || entry->live;
    if (shown_ == &trace && shown_id_ == snapshot.shown_trace) return;
    const bool first = shown_ == nullptr;
    shown_ = &trace;
    shown_id_ = snapshot.shown_trace;
    forget();
    if (!first) view_.selection.reset();
    if (live_) {
        if (!first) follow = true, span_ns = 200e6;
    } else {
        zoom_to_all(trace);
    }
}

void TimelinePanel::draw_sources(const Snapshot& snapshot, Commands& commands) {
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
    tooltip("Which trace is shown: this session, an opened file or an attached process");
    ImGui::SameLine();
    if (shown && !shown->own) {
        if (ImGui::Button(shown->store ? "Close" : "Cancel"))
            commands.push("trace.close", {std::to_string(shown->id)});
        tooltip(shown->store ? "Closes this trace" : "Stops reading this file");
        ImGui::SameLine();
    }
}

void TimelinePanel::draw_row_menu() {
    if (ImGui::Button("Rows...")) ImGui::OpenPopup("##rows");
    tooltip("Which rows are shown, and how");
    if (!ImGui::BeginPopup("##rows")) return;
    ImGui::MenuItem("Ranges as the GPU saw them", nullptr, &projections);
    ImGui::MenuItem("CUDA calls", nullptr, &calls);
    ImGui::MenuItem("Counters", nullptr, &counters);
    ImGui::Separator();
    if (ImGui::MenuItem("Fold all threads and streams")) rows_.fold_all(true);
    if (ImGui::MenuItem("Unfold all")) rows_.fold_all(false);
    if (ImGui::MenuItem(
            fmt::format("Show hidden rows ({}), in the usual order", rows_.hidden()).c_str()))
        rows_.show_all();
    ImGui::EndPopup();
}

void TimelinePanel::draw_controls(const Snapshot& snapshot, const TraceStore& trace,
                                  Commands& commands) {
    draw_sources(snapshot, commands);
    if (icon_button(
            "follow", follow ? Icon::pause : Icon::play,
            follow ? "Stop following: keep this moment in view" : "Follow the newest measurements"))
        follow = !follow;
    ImGui::SameLine();
    if (ImGui::Button("All")) zoom_to_all(trace);
    tooltip("Shows everything that is kept (F)");
    ImGui::SameLine();
    if (ImGui::Button("Last iteration") && !bars_.items.empty())
        zoom_to(bars_.items.back().begin_ns, bars_.items.back().end_ns);
    ImGui::SameLine();
    if (icon_text_button(Icon::search, "Find",
                         "Lists the spans of a name with their distribution (Ctrl+F)"))
        commands.push("trace.find");
    ImGui::SameLine();
    if (measuring)
        ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_Header));
    const bool was = measuring;
    if (ImGui::Button("Measure")) measuring = !measuring;
    if (was) ImGui::PopStyleColor();
    tooltip(
        "Dragging selects a stretch of time: how long it is and what it went into (M, or drag with "
        "Shift). "
        "Statistics, flame graph, find and compare then look at it; Esc ends it");
    ImGui::SameLine();
    draw_row_menu();
    ImGui::SameLine();
    ImGui::SetNextItemWidth(7 * em());
    if (ImGui::InputTextWithHint("##filter", "filter rows", &filter_)) rows_.set_filter(filter_);
    ImGui::SameLine();
    if (icon_button("export", Icon::save,
                    "Writes everything as a Perfetto trace (ui.perfetto.dev)"))
        prompt.ask("trace.save", "Perfetto trace to write", "gausscope.perfetto-trace");
    ImGui::SameLine();
    const std::string state = fmt::format(
        "{} shown, {} spans{}{}", format_ns(span_ns),
        format_short(static_cast<double>(trace.span_count())),
        trace.timeline().forgotten() > 0 ? ", older ones forgotten" : "",
        trace.sources().loss().total() > 0
            ? ", " + format_short(static_cast<double>(trace.sources().loss().total())) + " lost"
            : std::string());
    dim_text(fitted(state, ImGui::GetContentRegionAvail().x));
}

TimelineCanvas TimelinePanel::lay_out(float strip) const {
    const ImVec2 corner = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    TimelineCanvas canvas;
    const float head = bars_height() + ruler_height();
    canvas.labels = label_width(room.x);
    canvas.x = corner.x + canvas.labels;
    canvas.y = corner.y + head;
    canvas.w = std::max(room.x - canvas.labels, 1.0F);
    canvas.h = std::max(room.y - head - strip, 1.0F);
    canvas.list = ImGui::GetWindowDrawList();
    return canvas;
}

/// The left edge lies on whole pixels of time, so that nothing trembles while it moves on.
void TimelinePanel::settle_time(const TraceStore& trace, TimelineCanvas& canvas) {
    canvas.ns_per_px = span_ns / static_cast<double>(canvas.w);
    if (follow)
        begin_ns = std::max(trace.end_ns(), trace.sources().read_ns()) -
                   static_cast<std::int64_t>(span_ns);
    canvas.begin = begin_ns;
    if (canvas.ns_per_px >= 2) {
        const auto pixel = static_cast<std::int64_t>(canvas.ns_per_px);
        canvas.begin = begin_ns - ((begin_ns % pixel) + pixel) % pixel;
    }
    canvas.end = canvas.begin + static_cast<std::int64_t>(span_ns);
}

void TimelinePanel::draw_ruler(const TraceStore& trace, const TimelineCanvas& canvas) const {
    const double width_ns = canvas.ns_per_px * static_cast<double>(canvas.w);
    const auto ticks =
        plot_ticks(0, width_ns, std::max(2, static_cast<int>(canvas.w / (8 * em()))), false);
    if (ticks.size() < 2) return;
    const double step = ticks[1] - ticks[0];
    // A file's times count from its begin.
    const std::int64_t period =
        live_ ? canvas.begin / kRulerPeriodNs * kRulerPeriodNs : trace.begin_ns();
    const auto first = static_cast<std::int64_t>(
                           std::ceil(static_cast<double>(canvas.begin - period) / step) * step) +
                       period;
    const float y = canvas.y - ruler_height();
    for (int k = 0; k < 64; ++k) {
        const std::int64_t t = first + static_cast<std::int64_t>(static_cast<double>(k) * step);
        const float x = canvas.x_of(t);
        if (x > canvas.right()) break;
        canvas.list->AddLine({x, y + 0.9F * em()}, {x, canvas.bottom()}, kGridColor);
        const std::string label = relative_time(t - period, step);
        if (x + ImGui::CalcTextSize(label.c_str()).x < canvas.right())
            canvas.list->AddText({x + 2, y}, kDimColor, label.c_str());
    }
}

/// Hatched where records were lost: what is not drawn there may have happened all the same.
void TimelinePanel::draw_loss(const TraceStore& trace, const TimelineCanvas& canvas) const {
    const auto losses = trace.sources().losses();
    const auto first =
        std::upper_bound(losses.begin(), losses.end(), canvas.begin,
                         [](std::int64_t t, const LossStretch& l) { return t < l.end_ns; });
    float drawn_to = canvas.x - 1;
    for (auto loss = first; loss != losses.end() && loss->begin_ns < canvas.end; ++loss) {
        const float left = std::max(canvas.clamped_x(loss->begin_ns), drawn_to),
                    right = std::max(canvas.clamped_x(loss->end_ns),
                                     canvas.clamped_x(loss->begin_ns) + 2);
        if (right <= drawn_to) continue;
        drawn_to = right;
        const float top = canvas.y - 0.3F * em();
        canvas.list->AddRectFilled({left, canvas.y}, {right, canvas.bottom()},
                                   with_alpha(kWarningColor, 22));
        canvas.list->AddRectFilled({left, top}, {right, canvas.y}, kWarningColor);
        if (ImGui::IsWindowHovered() &&
            ImGui::IsMouseHoveringRect({left, top - 3}, {right, canvas.y + 3}))
            ImGui::SetTooltip(
                "%s records were lost here, within %s",
                format_count(static_cast<double>(loss->records)).c_str(),
                format_ns(static_cast<double>(loss->end_ns - loss->begin_ns)).c_str());
    }
}

void TimelinePanel::draw(const Snapshot& snapshot, Commands& commands) {
    hovered_ = false;
    busy_ = false;
    const TraceStore* trace = snapshot.shown();
    if (!trace || trace->tracks().empty()) {
        draw_sources(snapshot, commands);
        const TraceEntry* entry = snapshot.shown_entry();
        empty_note(entry && !entry->problem.empty() ? entry->problem
                   : entry && !entry->store         ? "Reading " + entry_label(*entry)
                   : entry && !entry->own           ? "Waiting for what " + entry->name + " records"
                                          : "Spans appear here as soon as something is measured");
        return;
    }
    follow_trace(snapshot, *trace);
    if (view_.jump) {
        zoom_to(view_.jump->range.begin_ns, view_.jump->range.end_ns);
        if (view_.jump->track < trace->tracks().size() && rows_.reveal(*trace, view_.jump->track))
            select(*trace, view_.jump->track, view_.jump->row, view_.jump->range.begin_ns);
        view_.jump.reset();
    }
    gather_bars(*trace);
    draw_controls(snapshot, *trace, commands);
    prompt.draw(commands);
    const float top = ImGui::GetCursorScreenPos().y, left = ImGui::GetCursorScreenPos().x;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    TimelineCanvas canvas = lay_out(details_height());
    if (room.x < canvas.labels + 4 * em() || room.y < bars_height() + ruler_height() + 2 * em())
        return;
    settle_time(*trace, canvas);
    draw_bars(*trace, canvas, top, commands);
    draw_ruler(*trace, canvas);
    ImGui::SetCursorScreenPos({left, canvas.y});
    ImGui::InvisibleButton("##spans", {room.x, canvas.h});
    canvas.hovered = hovered_ = ImGui::IsItemHovered();
    const bool active = ImGui::IsItemActive();
    draw_rows(*trace, canvas);
    draw_loss(*trace, canvas);
    steer(*trace, canvas, active, commands);
    draw_selection(*trace, canvas);
    draw_details(*trace, canvas, commands);
}

}  // namespace gs
