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
    return chord == "Escape" && (selected_ || view_.selection || measuring);
}

std::optional<TrackKind> TimelinePanel::pointed_at() const {
    return pointed_ && !pointed_->place.projected ? std::optional(pointed_->place.kind)
                                                  : std::nullopt;
}

const TraceSpan* TimelinePanel::kept_span(const TraceStore& trace, std::uint32_t track,
                                          std::size_t row, std::int64_t from_ns) const {
    if (track >= trace.tracks().size() || row >= trace.tracks()[track].rows.size()) return nullptr;
    const auto spans = trace.tracks()[track].rows[row].view();
    const auto at =
        std::lower_bound(spans.begin(), spans.end(), from_ns,
                         [](const TraceSpan& s, std::int64_t t) { return s.begin_ns < t; });
    return at != spans.end() && at->begin_ns == from_ns ? &*at : nullptr;
}

void TimelinePanel::select(const TraceStore& trace, std::uint32_t track, std::size_t row,
                           std::int64_t from_ns) {
    if (const TraceSpan* span = kept_span(trace, track, row, from_ns))
        selected_ = Selected{track, row, *span};
}

bool TimelinePanel::select_neighbour(const TraceStore& trace, int step) {
    if (!selected_ || selected_->track >= trace.tracks().size()) return false;
    const TraceTrack& track = trace.tracks()[selected_->track];
    if (selected_->row >= track.rows.size()) return false;
    // On the same track, in any row: work of a stream changes rows as there is room.
    const TraceSpan* best = nullptr;
    std::size_t best_row = 0;
    for (std::size_t row = 0; row < track.rows.size(); ++row) {
        const auto spans = track.rows[row].view();
        auto at =
            std::lower_bound(spans.begin(), spans.end(), selected_->span.begin_ns,
                             [](const TraceSpan& s, std::int64_t t) { return s.begin_ns < t; });
        if (step > 0) {
            while (at != spans.end() &&
                   (at->begin_ns <= selected_->span.begin_ns || at->name != selected_->span.name))
                ++at;
            if (at != spans.end() && (!best || at->begin_ns < best->begin_ns))
                best = &*at, best_row = row;
        } else {
            while (at != spans.begin() && (at - 1)->name != selected_->span.name) --at;
            if (at != spans.begin() && (!best || (at - 1)->begin_ns > best->begin_ns))
                best = &*(at - 1), best_row = row;
        }
    }
    if (!best) return false;
    selected_ = Selected{selected_->track, best_row, *best};
    follow = false;
    // It comes into view without changing the zoom.
    const std::int64_t end = begin_ns + static_cast<std::int64_t>(span_ns);
    if (best->begin_ns < begin_ns || best->end_ns > end)
        begin_ns = best->begin_ns - static_cast<std::int64_t>(
                                        0.5 * (span_ns - static_cast<double>(best->length_ns())));
    return true;
}

void TimelinePanel::zoom_at(double factor, std::int64_t centre) {
    const double wanted = std::clamp(span_ns * factor, kLeastSpanNs, kMostSpanNs);
    begin_ns = centre - static_cast<std::int64_t>(static_cast<double>(centre - begin_ns) *
                                                  (wanted / span_ns));
    span_ns = wanted;
}

/// To the selected span, then to the selected stretch, then to everything.
void TimelinePanel::zoom_to_selected(const TraceStore& trace) {
    if (selected_)
        zoom_to(selected_->span.begin_ns, selected_->span.end_ns);
    else if (view_.selection)
        zoom_to(view_.selection->begin_ns, view_.selection->end_ns);
    else
        zoom_to_all(trace);
}

/// The last thing that was chosen goes first.
void TimelinePanel::drop_selection() {
    if (anchor_)
        anchor_.reset();
    else if (measuring)
        measuring = false;
    else if (view_.selection)
        view_.selection.reset();
    else
        selected_.reset();
}

void TimelinePanel::click(const TraceStore& trace) {
    if (!pointed_) {
        selected_.reset();
        return;
    }
    const Place& place = pointed_->place;
    const SpanBlock& block = pointed_->block;
    follow = false;
    if (place.projected || pointed_->open || block.count > 1) {
        const std::int64_t end =
            pointed_->open ? std::max(trace.sources().read_ns(), block.begin_ns + 1) : block.end_ns;
        zoom_to(block.begin_ns, end);
        return;
    }
    select(trace, place.track, place.row, block.begin_ns);
}

void TimelinePanel::steer_mouse(const TraceStore& trace, const TimelineCanvas& canvas,
                                bool active) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool in_spans = io.MousePos.x >= canvas.x;
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
        dragged_ = 0;
        if (canvas.hovered && in_spans && (io.KeyShift || measuring))
            anchor_ = canvas.time_at(io.MousePos.x);
    }
    if (active && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3)) {
        dragged_ += std::abs(io.MouseDelta.x) + std::abs(io.MouseDelta.y);
        if (anchor_) {
            const std::int64_t now =
                canvas.time_at(std::clamp(io.MousePos.x, canvas.x, canvas.right()));
            view_.selection = TimeRange{std::min(*anchor_, now), std::max(*anchor_, now)};
            follow = false;
        } else {
            begin_ns -=
                static_cast<std::int64_t>(static_cast<double>(io.MouseDelta.x) * canvas.ns_per_px);
            scroll_ -= io.MouseDelta.y;
            if (io.MouseDelta.x != 0) follow = false;
        }
    }
    const bool released = ImGui::IsMouseReleased(ImGuiMouseButton_Left);
    const bool was_measure = anchor_.has_value();
    if (released) anchor_.reset();
    if (!canvas.hovered) return;
    if (io.MouseWheel != 0 && (io.KeyShift || !in_spans))
        scroll_ -= 3 * row_height() * io.MouseWheel;
    else if (io.MouseWheel != 0)
        zoom_at(
            std::pow(0.8, static_cast<double>(io.MouseWheel)),
            follow ? begin_ns + static_cast<std::int64_t>(span_ns) : canvas.time_at(io.MousePos.x));
    if (released && dragged_ < 3 && in_spans && !was_measure) click(trace);
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && in_spans) {
        if (pointed_ && pointed_->block.count == 1)
            zoom_to(pointed_->block.begin_ns, pointed_->block.end_ns);
        else if (!pointed_)
            zoom_to_all(trace);
    }
}

void TimelinePanel::steer_keys(const TraceStore& trace, const TimelineCanvas& canvas, Commands&) {
    const ImGuiIO& io = ImGui::GetIO();
    const double dt = static_cast<double>(io.DeltaTime), way = span_ns * dt * 1.2;
    if (letter_held('W')) zoom_at(std::exp(-2 * dt), canvas.time_at(io.MousePos.x));
    if (letter_held('S')) zoom_at(std::exp(2 * dt), canvas.time_at(io.MousePos.x));
    if (letter_held('A')) begin_ns -= static_cast<std::int64_t>(way), follow = false;
    if (letter_held('D')) begin_ns += static_cast<std::int64_t>(way), follow = false;
    busy_ |= letter_held('W') || letter_held('S') || letter_held('A') || letter_held('D');
    if (letter_pressed('F')) zoom_to_selected(trace);
    if (letter_pressed('M')) {
        // Of a selected span: how long it is and what it went into; else the next drag measures.
        if (selected_ && !measuring)
            view_.selection = TimeRange{selected_->span.begin_ns, selected_->span.end_ns};
        else
            measuring = !measuring;
    }
    if (key_pressed(ImGuiKey_Escape)) drop_selection();
    if (key_pressed(ImGuiKey_RightArrow)) select_neighbour(trace, 1);
    if (key_pressed(ImGuiKey_LeftArrow)) select_neighbour(trace, -1);
    if (key_pressed(ImGuiKey_UpArrow)) scroll_ -= 3 * row_height();
    if (key_pressed(ImGuiKey_DownArrow)) scroll_ += 3 * row_height();
}

void TimelinePanel::steer(const TraceStore& trace, const TimelineCanvas& canvas, bool active,
                          Commands& commands) {
    steer_mouse(trace, canvas, active);
    if (canvas.hovered) steer_keys(trace, canvas, commands);
    scroll_ = std::clamp(scroll_, 0.0F, std::max(content_height_ - canvas.h, 0.0F));
}

}  // namespace gs
