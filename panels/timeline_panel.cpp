#include "panels/timeline_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "panels/format.h"
#include "panels/keys.h"
#include "panels/plot.h"

namespace gs {
namespace {

constexpr double kLeastSpanNs = 200, kMostSpanNs = 3.6e12;

float label_width() { return 6.2F * em(); }
float row_height() { return 1.15F * em(); }
float bars_height() { return 2.6F * em(); }
float ruler_height() { return 1.25F * em(); }

std::string relative_time(std::int64_t ns, double step_ns) {
    const double t = static_cast<double>(ns);
    if (step_ns >= 1e9) return fmt::format("{:.0f} s", t * 1e-9);
    if (step_ns >= 1e6) return fmt::format("{:.3f} s", t * 1e-9);
    if (step_ns >= 1e3) return fmt::format("{:.3f} ms", t * 1e-6);
    return fmt::format("{:.3f} us", t * 1e-3);
}

std::string payload_text(Stage stage, std::uint64_t payload) {
    const char* meaning = stage == Stage::iteration    ? "step"
                          : stage == Stage::view_frame ? "picture"
                          : stage == Stage::ui         ? "frame"
                                                       : "value";
    return fmt::format("{} {}", meaning, format_count(static_cast<double>(payload)));
}

}  // namespace

std::optional<TrackKind> TimelinePanel::pointed_at() const {
    return any_under_mouse_ ? std::optional(under_mouse_place_.kind) : std::nullopt;
}

void TimelinePanel::zoom_to(std::int64_t from, std::int64_t to) {
    const auto length = static_cast<double>(std::max<std::int64_t>(to - from, 1));
    span_ns = std::clamp(1.3 * length, kLeastSpanNs, kMostSpanNs);
    begin_ns = from - static_cast<std::int64_t>(0.5 * (span_ns - length));
    follow = false;
}

void TimelinePanel::draw_controls(const TraceStore& trace) {
    if (icon_button("follow", follow ? Icon::pause : Icon::play,
                    follow ? "Stop following: keep this moment in view" : "Follow the newest measurements"))
        follow = !follow;
    ImGui::SameLine();
    if (ImGui::Button("All")) {
        zoom_to(trace.begin_ns(), trace.end_ns());
    }
    tooltip("Shows everything that is kept");
    ImGui::SameLine();
    if (ImGui::Button("Last iteration")) {
        const auto frames = trace.history(StatScope::iteration);
        if (!frames.empty()) zoom_to(frames.back().begin_ns, frames.back().end_ns);
    }
    ImGui::SameLine();
    if (icon_text_button(Icon::save, "Export...", "Writes everything as a Perfetto trace (ui.perfetto.dev)"))
        prompt.ask("trace.save", "Perfetto trace to write", "gausscope.perfetto-trace");
    ImGui::SameLine();
    dim_text(fmt::format(
        "{} shown, {} spans kept{}{}", format_ns(span_ns), format_short(static_cast<double>(trace.span_count())),
        trace.forgotten_spans() > 0 ? ", older ones forgotten" : "",
        trace.loss().total() > 0 ? ", " + format_short(static_cast<double>(trace.loss().total())) + " lost"
                                 : std::string()));
}

void TimelinePanel::draw_bars(const TraceStore& trace, Canvas canvas) {
    const auto frames = trace.history(StatScope::iteration);
    const float bottom = canvas.y + bars_height() - 2;
    canvas.list->AddText({canvas.x - label_width(), canvas.y + 0.2F * em()}, kDimColor, "iterations");
    if (frames.empty()) return;
    // One bar an iteration, the newest at the right; which of them are in view below is outlined.
    const float bar = std::max(3.0F, 0.3F * em());
    const auto fit = static_cast<std::size_t>(std::max(canvas.w / bar, 1.0F));
    const auto shown = frames.size() > fit ? frames.subspan(frames.size() - fit) : frames;
    std::vector<double> sorted;
    for (const FrameSample& f : shown) sorted.push_back(f.milliseconds());
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 95 / 100),
                     sorted.end());
    const double top = std::max(sorted[sorted.size() * 95 / 100] * 1.25, 1e-6), median = percentile(sorted, 50);
    const float range = bottom - canvas.y - 0.2F * em();
    canvas.list->AddText({canvas.x - label_width(), canvas.y + 1.2F * em()}, kFaintColor,
                         ("max " + format_ms(top)).c_str());
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const FrameSample& f = shown[i];
        const double share = std::min(f.milliseconds() / top, 1.0);
        const float left = canvas.x + static_cast<float>(i) * bar,
                    height = std::max(1.0F, range * static_cast<float>(share));
        const bool in_view = f.end_ns > canvas.begin && f.begin_ns < canvas.end;
        const bool slow = f.milliseconds() > 1.5 * median;
        const bool hovered =
            ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect({left, canvas.y}, {left + bar, bottom});
        const ImU32 color = hovered        ? kTextColor
                            : f.incomplete ? kFaintColor
                            : slow         ? kWarningColor
                            : in_view      ? kAccentColor
                                           : color_rgb(0x3c5878);
        canvas.list->AddRectFilled({left, bottom - height}, {left + bar - 1, bottom}, color);
        if (!hovered) continue;
        ImGui::SetTooltip("iteration %s: %s%s", format_count(static_cast<double>(f.number)).c_str(),
                          format_ms(f.milliseconds()).c_str(), f.incomplete ? " (records were lost)" : "");
        if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) zoom_to(f.begin_ns, f.end_ns);
    }
}

void TimelinePanel::draw_ruler(const Canvas& canvas) const {
    const double width_ns = canvas.ns_per_px * static_cast<double>(canvas.w);
    // Times count from the left edge's second, in round steps.
    const auto ticks = plot_ticks(0, width_ns, std::max(2, static_cast<int>(canvas.w / (8 * em()))), false);
    if (ticks.size() < 2) return;
    const double step = ticks[1] - ticks[0];
    const auto first =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(canvas.begin % 1'000'000'000'000) / step) * step) +
        canvas.begin / 1'000'000'000'000 * 1'000'000'000'000;
    const float y = canvas.y - ruler_height();
    for (int k = 0; k < 64; ++k) {
        const std::int64_t t = first + static_cast<std::int64_t>(static_cast<double>(k) * step);
        const float x = canvas.x_of(t);
        if (x > canvas.x + canvas.w) break;
        canvas.list->AddLine({x, y + 0.9F * em()}, {x, canvas.y + canvas.h}, kGridColor);
        const std::string label = relative_time(t % 1'000'000'000'000, step);
        if (x + ImGui::CalcTextSize(label.c_str()).x < canvas.x + canvas.w)
            canvas.list->AddText({x + 2, y}, kDimColor, label.c_str());
    }
}

void TimelinePanel::span_tooltip(const TraceStore& trace) const {
    const DrawnSpan& span = under_mouse_;
    const TraceTrack& track = trace.tracks()[under_mouse_place_.track];
    const std::string_view name = trace.name(span.name);
    ImGui::BeginTooltip();
    if (span.count > 1) {
        text(fmt::format("{} spans too small to tell apart", format_count(span.count)));
        dim_text(fmt::format("within {}, first: {}; zoom in to see them",
                             format_ns(static_cast<double>(span.end_ns - span.begin_ns)), name));
    } else {
        colored_text(mix(stage_color(trace.stage(span.name)), kTextColor, 0.4F), name);
        if (under_is_open_)
            text("still running, for " + format_ns(static_cast<double>(trace.read_ns() - span.begin_ns)));
        else
            text(format_ns(static_cast<double>(span.end_ns - span.begin_ns)));
        if (span.has_payload) dim_text(payload_text(trace.stage(span.name), span.payload));
        if (track.kind == TrackKind::gpu_stream) {
            const auto& row = track.rows[under_mouse_place_.row].view();
            const auto launch = span.first < row.size() ? trace.launching_span(under_mouse_place_.track,
                                                                               under_mouse_place_.row, row[span.first])
                                                        : TraceStore::LaunchingSpan{};
            if (launch.span)
                dim_text(fmt::format("on the GPU ({}); launched {} before by {} of {}", track.name,
                                     format_ns(static_cast<double>(span.begin_ns - launch.span->begin_ns)),
                                     trace.name(launch.span->name), trace.tracks()[launch.track].name));
            else
                dim_text(fmt::format("on the GPU ({}); what launched it is not known", track.name));
        }
        dim_text("click zooms to it");
    }
    ImGui::EndTooltip();
}

/// From the GPU work under the mouse to the span that launched it: its outline, and a line from one to the other.
void TimelinePanel::draw_launch(const TraceStore& trace, const Canvas& canvas) const {
    const TraceTrack& track = trace.tracks()[under_mouse_place_.track];
    if (track.kind != TrackKind::gpu_stream || under_mouse_.count > 1 || under_is_open_) return;
    const auto& row = track.rows[under_mouse_place_.row].view();
    if (under_mouse_.first >= row.size()) return;
    const auto launch = trace.launching_span(under_mouse_place_.track, under_mouse_place_.row, row[under_mouse_.first]);
    if (!launch.span || launch.track >= track_y_.size() || track_y_[launch.track] < -1e6F) return;
    const float top = track_y_[launch.track] + static_cast<float>(launch.row) * row_height();
    const float left = std::clamp(canvas.x_of(launch.span->begin_ns), canvas.x - 4, canvas.x + canvas.w + 4);
    const float right = std::clamp(canvas.x_of(launch.span->end_ns), left + 2, canvas.x + canvas.w + 4);
    const float thick = std::max(1.5F, 0.1F * em());
    canvas.list->AddRect({left, top - 1}, {right, top + row_height()}, kTextColor, 2, 0, thick);
    // The line leaves the launcher where it begins and arrives where the work begins, from whichever side it lies on.
    const bool below = under_mouse_place_.y > top;
    const ImVec2 from{left, below ? top + row_height() : top};
    const ImVec2 to{std::max(canvas.x_of(under_mouse_.begin_ns), canvas.x - 4),
                    below ? under_mouse_place_.y : under_mouse_place_.y + row_height() - 1};
    const float bend = 0.5F * (to.y - from.y);
    canvas.list->AddBezierCubic(from, {from.x, from.y + bend}, {to.x, to.y - bend}, to, kTextColor, thick);
    const float tip = 0.3F * em(), way = below ? -1.0F : 1.0F;
    if (below)
        canvas.list->AddTriangleFilled(to, {to.x - tip, to.y + way * 1.4F * tip}, {to.x + tip, to.y + way * 1.4F * tip},
                                       kTextColor);
    else
        canvas.list->AddTriangleFilled(to, {to.x + tip, to.y + way * 1.4F * tip}, {to.x - tip, to.y + way * 1.4F * tip},
                                       kTextColor);
}

void TimelinePanel::draw_span(const TraceStore& trace, const DrawnSpan& span, const Canvas& canvas, Place at,
                              bool open) {
    const float y = at.y, height = row_height();
    const float left = std::max(canvas.x_of(span.begin_ns), canvas.x - 2),
                right = std::min(canvas.x_of(span.end_ns), canvas.x + canvas.w + 2);
    const float end = std::max(right - (right - left > 3 ? 1.0F : 0.0F), left + 1);
    ImU32 color = stage_color(trace.stage(span.name));
    if (span.count > 1) color = mix(color, kPanelColor, 0.45F);
    const ImVec2 mouse = ImGui::GetMousePos();
    const bool hovered =
        canvas.hovered && mouse.x >= left && mouse.x < std::max(end, left + 2) && mouse.y >= y && mouse.y < y + height;
    if (hovered) {
        under_mouse_ = span;
        under_mouse_place_ = at;
        any_under_mouse_ = true;
        under_is_open_ = open;
    }
    canvas.list->AddRectFilled({left, y}, {end, y + height - 1}, hovered ? mix(color, IM_COL32_WHITE, 0.3F) : color,
                               end - left > 6 ? 2.0F : 0.0F);
    if (open) canvas.list->AddLine({end, y}, {end, y + height - 1}, kTextColor);
    if (end - left < 2.2F * em()) return;
    std::string label = span.count > 1 ? fmt::format("{} spans", span.count) : std::string(trace.name(span.name));
    if (span.count == 1 && span.has_payload && group_of(trace.stage(span.name)) == StageGroup::frame)
        label += fmt::format(" {}", span.payload);
    const float room = end - left - 0.5F * em();
    // The number of a frame says more than half of its name.
    const bool numbered = span.count == 1 && span.has_payload && group_of(trace.stage(span.name)) == StageGroup::frame;
    if (numbered && ImGui::CalcTextSize(label.c_str()).x > room) label = fmt::format("{}", span.payload);
    label = fitted(label, room);
    if (label.size() > 3 || ImGui::CalcTextSize(label.c_str()).x <= room)
        canvas.list->AddText({left + 0.25F * em(), y + (height - em()) / 2 - 1}, text_on(color), label.c_str());
}

void TimelinePanel::draw_label(const TraceTrack& track, const Canvas& canvas, float top, float bottom) const {
    const float left = canvas.x - label_width();
    std::string_view name = track.name;
    const bool gpu = track.kind == TrackKind::gpu_stream;
    if (gpu) {
        // "GPU" says what the row is; the stream's own name is what tells it from others.
        constexpr std::string_view kPrefix = "CUDA stream ";
        if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
        canvas.list->AddText({left, top}, kGoodColor, "GPU");
    }
    const float begin = left + (gpu ? ImGui::CalcTextSize("GPU ").x : 0);
    canvas.list->AddText({begin, top}, track.ended ? kFaintColor : kTextColor,
                         fitted(name, canvas.x - begin - 0.6F * em()).c_str());
    const bool hovered = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect({left, top}, {canvas.x, bottom});
    if (hovered) ImGui::SetTooltip("%s%s", track.name.c_str(), gpu ? ": what the GPU did, by its own clock" : "");
}

float TimelinePanel::draw_track(const TraceStore& trace, std::size_t index, const Canvas& canvas, float y) {
    const TraceTrack& track = trace.tracks()[index];
    const float height = row_height();
    track_y_[index] = -1e9F;
    drawn_.clear();
    if (!track.rows.empty())
        trace.visible(index, 0, canvas.begin, canvas.end, static_cast<std::int64_t>(canvas.ns_per_px), drawn_);
    if (track.ended && drawn_.empty()) return 0;  // what ended before the window needs no room in it
    const float top = y;
    track_y_[index] = top;
    for (std::size_t row = 0; row < track.rows.size(); ++row) {
        if (y + height >= canvas.y && y < canvas.y + canvas.h) {
            drawn_.clear();
            trace.visible(index, row, canvas.begin, canvas.end, static_cast<std::int64_t>(canvas.ns_per_px), drawn_);
            for (const DrawnSpan& span : drawn_) draw_span(trace, span, canvas, {index, row, y, track.kind}, false);
        }
        for (const OpenSpan& open : trace.open_spans())
            if (open.track == index && open.depth == row)
                draw_span(trace,
                          {open.begin_ns, std::max(trace.read_ns(), open.begin_ns), open.payload, open.name, 1,
                           open.payload != 0},
                          canvas, {index, row, y, track.kind}, true);
        y += height;
    }
    if (track.rows.empty()) return 0;
    draw_label(track, canvas, top, y);
    canvas.list->AddLine({canvas.x - label_width(), y + 0.15F * em()}, {canvas.x + canvas.w, y + 0.15F * em()},
                         kGridColor);
    return y - top + 0.35F * em();
}

std::vector<std::size_t> TimelinePanel::order_of(const TraceStore& trace) {
    const auto& tracks = trace.tracks();
    std::vector<std::size_t> threads, streams, order;
    for (std::size_t i = 0; i < tracks.size(); ++i)
        (tracks[i].kind == TrackKind::gpu_stream ? streams : threads).push_back(i);
    std::stable_sort(threads.begin(), threads.end(), [&](std::size_t a, std::size_t b) {
        return tracks[a].ended != tracks[b].ended ? tracks[b].ended : tracks[a].rows.size() > tracks[b].rows.size();
    });
    // The thread whose span launched a stream's newest work feeds it.
    const auto feeder_of = [&](std::size_t stream) {
        const auto& launches = tracks[stream].launches;
        if (launches.empty() || launches[0].view().empty()) return kNoTrack;
        return launches[0].view().back().track;
    };
    for (const std::size_t thread : threads) {
        order.push_back(thread);
        for (const std::size_t stream : streams)
            if (feeder_of(stream) == thread) order.push_back(stream);
    }
    for (const std::size_t stream : streams)
        if (std::find(order.begin(), order.end(), stream) == order.end()) order.push_back(stream);
    return order;
}

void TimelinePanel::draw_tracks(const TraceStore& trace, const Canvas& canvas) {
    any_under_mouse_ = false;
    canvas.list->PushClipRect({canvas.x - label_width(), canvas.y}, {canvas.x + canvas.w, canvas.y + canvas.h}, true);
    float y = canvas.y - scroll_;
    const float begin = y;
    track_y_.assign(trace.tracks().size(), -1e9F);
    for (const std::size_t track : order_of(trace)) y += draw_track(trace, track, canvas, y);
    content_height_ = y - begin;
    if (any_under_mouse_) draw_launch(trace, canvas);
    canvas.list->PopClipRect();
    if (any_under_mouse_ && dragged_ < 3) span_tooltip(trace);
}

void TimelinePanel::steer(const TraceStore& trace, const Canvas& canvas, bool active) {
    const ImGuiIO& io = ImGui::GetIO();
    const auto zoom_at = [&](double factor, std::int64_t centre) {
        const double wanted = std::clamp(span_ns * factor, kLeastSpanNs, kMostSpanNs);
        begin_ns = centre - static_cast<std::int64_t>(static_cast<double>(centre - begin_ns) * (wanted / span_ns));
        span_ns = wanted;
    };
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) dragged_ = 0;
    if (active && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 3)) {
        dragged_ += std::abs(io.MouseDelta.x) + std::abs(io.MouseDelta.y);
        begin_ns -= static_cast<std::int64_t>(static_cast<double>(io.MouseDelta.x) * canvas.ns_per_px);
        scroll_ -= io.MouseDelta.y;
        if (io.MouseDelta.x != 0) follow = false;
    }
    if (canvas.hovered) {
        if (io.MouseWheel != 0 && io.KeyShift)
            scroll_ -= 3 * row_height() * io.MouseWheel;
        else if (io.MouseWheel != 0)
            zoom_at(std::pow(0.8, static_cast<double>(io.MouseWheel)),
                    follow ? begin_ns + static_cast<std::int64_t>(span_ns) : canvas.time_at(io.MousePos.x));
        const double dt = static_cast<double>(io.DeltaTime), way = span_ns * dt * 1.2;
        if (letter_held('W')) zoom_at(std::exp(-2 * dt), canvas.time_at(io.MousePos.x));
        if (letter_held('S')) zoom_at(std::exp(2 * dt), canvas.time_at(io.MousePos.x));
        if (letter_held('A')) begin_ns -= static_cast<std::int64_t>(way), follow = false;
        if (letter_held('D')) begin_ns += static_cast<std::int64_t>(way), follow = false;
        const bool clicked = ImGui::IsMouseReleased(ImGuiMouseButton_Left) && dragged_ < 3;
        if (clicked && any_under_mouse_)
            zoom_to(under_mouse_.begin_ns, under_is_open_ ? trace.read_ns() : under_mouse_.end_ns);
        if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && !any_under_mouse_)
            zoom_to(trace.begin_ns(), trace.end_ns());
    }
    scroll_ = std::clamp(scroll_, 0.0F, std::max(content_height_ - canvas.h, 0.0F));
}

void TimelinePanel::draw(const Snapshot& snapshot, Commands& commands) {
    if (!snapshot.trace || snapshot.trace->tracks().empty()) {
        empty_note("Spans appear here as soon as something is measured");
        return;
    }
    const TraceStore& trace = *snapshot.trace;
    draw_controls(trace);
    prompt.draw(commands);
    if (follow) begin_ns = trace.end_ns() - static_cast<std::int64_t>(span_ns);
    const ImVec2 corner = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    if (room.x < label_width() + 4 * em() || room.y < 3 * em()) return;
    Canvas canvas;
    const float head = bars_height() + ruler_height();
    canvas.x = corner.x + label_width();
    canvas.y = corner.y + head;
    canvas.w = room.x - label_width();
    canvas.h = std::max(room.y - head, 1.0F);
    canvas.ns_per_px = span_ns / static_cast<double>(canvas.w);
    canvas.begin = begin_ns;
    canvas.end = begin_ns + static_cast<std::int64_t>(span_ns);
    canvas.list = ImGui::GetWindowDrawList();
    Canvas bars = canvas;
    bars.y = corner.y;
    draw_bars(trace, bars);
    draw_ruler(canvas);
    ImGui::SetCursorScreenPos({corner.x, canvas.y});
    ImGui::InvisibleButton("##spans", {room.x, canvas.h});
    canvas.hovered = ImGui::IsItemHovered();
    const bool active = ImGui::IsItemActive();
    draw_tracks(trace, canvas);
    steer(trace, canvas, active);
}

}  // namespace gs
