#include "panels/timeline/axis.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/widgets/plot.h"

namespace gs {
namespace {

std::string relative_time(std::int64_t ns, double step_ns) {
    const double t = static_cast<double>(ns);
    if (step_ns >= 1e9) return fmt::format("{:.0f} s", t * 1e-9);
    if (step_ns >= 1e6) return fmt::format("{:.3f} s", t * 1e-9);
    if (step_ns >= 1e3) return fmt::format("{:.3f} ms", t * 1e-6);
    return fmt::format("{:.3f} us", t * 1e-3);
}

}  // namespace

void TimeAxis::zoom_to(std::int64_t from, std::int64_t to, double margin) {
    const auto length = static_cast<double>(std::max<std::int64_t>(to - from, 1));
    span_ns = std::clamp((1 + margin) * length, kLeastSpanNs, kMostSpanNs);
    begin_ns = from - static_cast<std::int64_t>(0.5 * (span_ns - length));
    follow = false;
}

void TimeAxis::rest_at_end(const TraceStore& trace) {
    if (follow) begin_ns = trace.end_ns() - static_cast<std::int64_t>(span_ns);
    follow = false;
}

void TimeAxis::zoom_at(double factor, std::int64_t centre) {
    const double wanted = std::clamp(span_ns * factor, kLeastSpanNs, kMostSpanNs);
    begin_ns = centre - static_cast<std::int64_t>(static_cast<double>(centre - begin_ns) *
                                                  (wanted / span_ns));
    span_ns = wanted;
}

void TimeAxis::pan(double by_ns) {
    begin_ns += static_cast<std::int64_t>(by_ns);
    follow = false;
}

void TimeAxis::bring_into_view(std::int64_t from, std::int64_t to) {
    follow = false;
    if (from >= begin_ns && to <= end_ns()) return;
    begin_ns = from - static_cast<std::int64_t>(0.5 * (span_ns - static_cast<double>(to - from)));
}

void TimeAxis::settle(const TraceStore& trace, TimelineCanvas& canvas) {
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

void draw_ruler(const TraceStore& trace, const TimelineCanvas& canvas) {
    const double width_ns = canvas.ns_per_px * static_cast<double>(canvas.w);
    const auto ticks =
        plot_ticks(0, width_ns, std::max(2, static_cast<int>(canvas.w / (8 * em()))), false);
    if (ticks.size() < 2) return;
    const double step = ticks[1] - ticks[0];
    const std::int64_t origin = trace.origin_ns();
    const auto first = static_cast<std::int64_t>(
                           std::ceil(static_cast<double>(canvas.begin - origin) / step) * step) +
                       origin;
    const float y = canvas.y - ruler_height();
    for (int k = 0; k < 64; ++k) {
        const std::int64_t t = first + static_cast<std::int64_t>(static_cast<double>(k) * step);
        const float x = canvas.x_of(t);
        if (x > canvas.right()) break;
        canvas.list->AddLine({x, y + 0.9F * em()}, {x, canvas.bottom()}, theme().grid);
        const std::string label = relative_time(t - origin, step);
        if (x + ImGui::CalcTextSize(label.c_str()).x < canvas.right())
            canvas.list->AddText({x + 2, y}, theme().dim, label.c_str());
    }
}

void draw_losses(const TraceStore& trace, const TimelineCanvas& canvas) {
    const auto losses = trace.sources().losses();
    const auto first = std::ranges::upper_bound(losses, canvas.begin, {}, &LossStretch::end_ns);
    float drawn_to = canvas.x - 1;
    for (auto loss = first; loss != losses.end() && loss->begin_ns < canvas.end; ++loss) {
        const float left = std::max(canvas.clamped_x(loss->begin_ns), drawn_to),
                    right = std::max(canvas.clamped_x(loss->end_ns),
                                     canvas.clamped_x(loss->begin_ns) + 2);
        if (right <= drawn_to) continue;
        drawn_to = right;
        const float top = canvas.y - 0.3F * em();
        canvas.list->AddRectFilled({left, canvas.y}, {right, canvas.bottom()},
                                   with_alpha(theme().warning, 22));
        canvas.list->AddRectFilled({left, top}, {right, canvas.y}, theme().warning);
        if (ImGui::IsWindowHovered() &&
            ImGui::IsMouseHoveringRect({left, top - 3}, {right, canvas.y + 3}))
            ImGui::SetTooltip(
                "%s records lost here, within %s",
                format_count(static_cast<double>(loss->records)).c_str(),
                format_ns(static_cast<double>(loss->end_ns - loss->begin_ns)).c_str());
    }
}

}  // namespace gs
