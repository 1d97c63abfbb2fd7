// Mouse and keys over the timeline.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "panels/timeline/metrics.h"
#include "panels/timeline/timeline_panel.h"
#include "panels/widgets/keys.h"

namespace gs {

bool TimelinePanel::takes_key(const std::string& chord) const {
    if (!hovered_) return false;
    for (const char* key : {"W", "A", "S", "D", "F", "M", "Left", "Right", "Up", "Down"})
        if (chord == key) return true;
    return chord == "Escape" && (selection_ || sample_ || view_.selection || measure_.on);
}

std::optional<TrackKind> TimelinePanel::pointed_at() const {
    const auto& pointed = rows_.spans().pointed();
    return pointed && !pointed->place.projected ? std::optional(pointed->place.kind) : std::nullopt;
}

/// To the selected span, then to the selected stretch, then to everything.
void TimelinePanel::zoom_to_selected(const TraceStore& trace) {
    if (const auto& selected = selection_.span())
        axis.zoom_to(selected->span.begin_ns, selected->span.end_ns);
    else if (const auto& sample = sample_.sample())
        axis.zoom_to(sample->sample.time_ns - sample->sample.weight_ns, sample->sample.time_ns);
    else if (view_.selection)
        axis.zoom_to(view_.selection->begin_ns, view_.selection->end_ns);
    else
        axis.zoom_to_all(trace);
}

void TimelinePanel::walk(const TraceStore& trace, int step) {
    if (sample_.select_neighbour(trace, step)) {
        const StackSample& sample = sample_.sample()->sample;
        axis.bring_into_view(sample.time_ns - sample.weight_ns, sample.time_ns);
    }
    if (!selection_.select_neighbour(trace, step)) return;
    const TraceSpan& span = selection_.span()->span;
    axis.bring_into_view(span.begin_ns, span.end_ns);
}

void TimelinePanel::click_samples(const PointedSamples& pointed) {
    axis.follow = false;
    if (pointed.count > 1) return axis.zoom_to(pointed.begin_ns, pointed.end_ns);
    end_selection();
    sample_.select(pointed.one);
}

void TimelinePanel::click(const TraceStore& trace) {
    if (const auto& samples = rows_.samples().pointed()) return click_samples(*samples);
    const auto& pointed = rows_.spans().pointed();
    if (!pointed) return end_selection();
    const SpanBlock& block = pointed->block;
    axis.follow = false;
    if (pointed->place.projected || pointed->open || block.count > 1)
        axis.zoom_to(block.begin_ns, pointed->open
                                         ? std::max(trace.sources().read_ns(), block.begin_ns + 1)
                                         : block.end_ns);
    else
        select(trace, pointed->place.track, pointed->place.row, block.begin_ns);
}

/// Moves time and rows, or measures.
void TimelinePanel::steer_drag(const TimelineCanvas& canvas, bool active) {
    const ImGuiIO& io = ImGui::GetIO();
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
        dragged_ = 0;
        if (canvas.hovered && io.MousePos.x >= canvas.x && (io.KeyShift || measure_.on))
            measure_.begin_drag(canvas.time_at(io.MousePos.x));
    }
    if (!active || !ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3)) return;
    dragged_ += std::abs(io.MouseDelta.x) + std::abs(io.MouseDelta.y);
    if (measure_.dragging()) {
        measure_.drag_to(canvas.time_at(std::clamp(io.MousePos.x, canvas.x, canvas.right())));
        axis.follow = false;
    } else {
        if (io.MouseDelta.x != 0)
            axis.pan(-static_cast<double>(io.MouseDelta.x) * canvas.ns_per_px);
        rows_.scroll_by(-io.MouseDelta.y);
    }
}

void TimelinePanel::steer_mouse(const TraceStore& trace, const TimelineCanvas& canvas,
                                bool active) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool in_spans = io.MousePos.x >= canvas.x;
    steer_drag(canvas, active);
    const bool released = ImGui::IsMouseReleased(ImGuiMouseButton_Left);
    const bool measured = measure_.dragging();
    if (released) measure_.end_drag();
    if (!canvas.hovered) return;
    if (io.MouseWheel != 0 && (io.KeyShift || !in_spans))
        rows_.scroll_by(-3 * row_height() * io.MouseWheel);
    else if (io.MouseWheel != 0)
        axis.zoom_at(std::pow(0.8, static_cast<double>(io.MouseWheel)),
                     axis.follow ? axis.end_ns() : canvas.time_at(io.MousePos.x));
    if (released && dragged_ < 3 && in_spans && !measured) click(trace);
    if (!ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) || !in_spans) return;
    const auto& pointed = rows_.spans().pointed();
    const auto& samples = rows_.samples().pointed();
    if (samples)
        axis.zoom_to(samples->begin_ns, samples->end_ns);
    else if (!pointed)
        axis.zoom_to_all(trace);
    else if (pointed->block.count == 1)
        axis.zoom_to(pointed->block.begin_ns, pointed->block.end_ns);
}

void TimelinePanel::steer_keys(const TraceStore& trace, const TimelineCanvas& canvas) {
    const ImGuiIO& io = ImGui::GetIO();
    const double dt = static_cast<double>(io.DeltaTime), way = axis.span_ns * dt * 1.2;
    if (place_held('W')) axis.zoom_at(std::exp(-2 * dt), canvas.time_at(io.MousePos.x));
    if (place_held('S')) axis.zoom_at(std::exp(2 * dt), canvas.time_at(io.MousePos.x));
    if (place_held('A')) axis.pan(-way);
    if (place_held('D')) axis.pan(way);
    busy_ |= place_held('W') || place_held('S') || place_held('A') || place_held('D');
    if (letter_pressed('F')) zoom_to_selected(trace);
    if (letter_pressed('M')) {
        // Measures the selected span; without one, the next drag measures.
        if (const auto& selected = selection_.span(); selected && !measure_.on)
            measure_.set({selected->span.begin_ns, selected->span.end_ns});
        else
            measure_.on = !measure_.on;
    }
    // The last thing that was chosen goes first.
    if (key_pressed(ImGuiKey_Escape) && !measure_.drop()) end_selection();
    keep_arrows();
    if (ImGui::GetIO().NavVisible) return;
    if (key_pressed(ImGuiKey_RightArrow)) walk(trace, 1);
    if (key_pressed(ImGuiKey_LeftArrow)) walk(trace, -1);
    if (key_pressed(ImGuiKey_UpArrow)) rows_.scroll_by(-3 * row_height());
    if (key_pressed(ImGuiKey_DownArrow)) rows_.scroll_by(3 * row_height());
}

void TimelinePanel::steer(const TraceStore& trace, const TimelineCanvas& canvas, bool active) {
    steer_mouse(trace, canvas, active);
    if (canvas.hovered) steer_keys(trace, canvas);
    rows_.keep_in(canvas);
}

}  // namespace gs
