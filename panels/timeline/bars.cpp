// The iterations above the timeline: one bar each, with lines at their median and at a target.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/timeline/timeline_panel.h"
#include "profiler/store/statistics.h"

namespace gs {
namespace {

constexpr std::size_t kMostBars = 4096;
constexpr double kLookAgain = 3.0;  // seconds between two searches for iterations of a live trace

}  // namespace

/// The store's own frames where there are any; else what can be told from ranges and kernels that
/// recur.
void TimelinePanel::gather_bars(const TraceStore& trace) {
    const auto frames = trace.frames().history(StatScope::iteration);
    std::uint32_t process = selected_ && selected_->track < trace.tracks().size()
                                ? trace.tracks()[selected_->track].process
                            : frames.empty() ? 0
                                             : frames.back().process;
    const bool own = std::any_of(frames.rbegin(), frames.rend(),
                                 [&](const FrameSample& f) { return f.process == process; });
    if (own) {
        const std::uint64_t made_of =
            frames.size() ^ static_cast<std::uint64_t>(frames.back().end_ns) ^ process;
        if (made_of == bars_.made_of) return;
        bars_ = {{}, "", made_of, ImGui::GetTime()};
        for (auto f = frames.rbegin(); f != frames.rend() && bars_.items.size() < kMostBars; ++f)
            if (f->process == process)
                bars_.items.push_back({f->number, f->begin_ns, f->end_ns, f->incomplete});
        std::reverse(bars_.items.begin(), bars_.items.end());
        return;
    }
    const std::uint64_t made_of = trace.span_count() + 1;
    if (bars_.made_of == made_of || ImGui::GetTime() - bars_.made_at < kLookAgain) return;
    Iterations found;
    for (std::uint32_t i = 0; i < trace.processes().size() && found.items.empty(); ++i)
        found = find_iterations(trace, i);
    bars_ = {{}, found.how, made_of, ImGui::GetTime()};
    const std::size_t first = found.items.size() > kMostBars ? found.items.size() - kMostBars : 0;
    for (std::size_t i = first; i < found.items.size(); ++i)
        bars_.items.push_back(
            {found.items[i].number, found.items[i].begin_ns, found.items[i].end_ns, false});
}

void TimelinePanel::draw_bars(const TraceStore&, const TimelineCanvas& canvas, float y, Commands&) {
    const float bottom = y + bars_height() - 2, label = canvas.x - canvas.labels;
    canvas.list->AddText({label, y + 0.2F * em()}, kDimColor, "iterations");
    if (bars_.items.empty()) {
        canvas.list->AddText({canvas.x, y + 0.2F * em()}, kFaintColor, "none found in this trace");
        return;
    }
    // The newest at the right; which of them are in view below are brighter.
    const float bar = std::max(3.0F, 0.3F * em());
    const auto fit = static_cast<std::size_t>(std::max(canvas.w / bar, 1.0F));
    std::span<const Bar> shown(bars_.items);
    if (!follow && shown.size() > fit) {
        // Away from the newest: those around what is shown.
        const auto middle =
            std::lower_bound(shown.begin(), shown.end(), (canvas.begin + canvas.end) / 2,
                             [](const Bar& b, std::int64_t t) { return b.end_ns < t; });
        const auto at = static_cast<std::size_t>(middle - shown.begin());
        shown = shown.subspan(std::min(at > fit / 2 ? at - fit / 2 : 0, shown.size() - fit), fit);
    } else if (shown.size() > fit) {
        shown = shown.last(fit);
    }
    std::vector<double> sorted;
    for (const Bar& b : shown) sorted.push_back(b.milliseconds());
    std::sort(sorted.begin(), sorted.end());
    const double median = percentile(sorted, 50);
    const double top = std::max({percentile(sorted, 95) * 1.25, target_ms * 1.1, 1e-6});
    const float range = bottom - y - 0.2F * em();
    const auto y_of = [&](double ms) {
        return bottom - range * static_cast<float>(std::min(ms / top, 1.0));
    };
    canvas.list->AddText(
        {label, y + 1.2F * em()}, kFaintColor,
        fitted("median " + format_ms(median), canvas.labels - 0.3F * em()).c_str());
    const bool in_bars = ImGui::IsWindowHovered() &&
                         ImGui::IsMouseHoveringRect({canvas.x, y}, {canvas.right(), bottom});
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const Bar& b = shown[i];
        const float left = canvas.x + static_cast<float>(i) * bar;
        const bool in_view = b.end_ns > canvas.begin && b.begin_ns < canvas.end;
        const bool hovered =
            in_bars && ImGui::GetMousePos().x >= left && ImGui::GetMousePos().x < left + bar;
        const bool slow = b.milliseconds() > (target_ms > 0 ? target_ms : 1.5 * median);
        const ImU32 color = hovered        ? kTextColor
                            : b.incomplete ? kFaintColor
                            : slow
                                ? (in_view ? kWarningColor : mix(kWarningColor, kPanelColor, 0.35F))
                            : in_view ? kAccentColor
                                      : color_rgb(0x3c5878);
        canvas.list->AddRectFilled({left, std::min(y_of(b.milliseconds()), bottom - 1)},
                                   {left + bar - 1, bottom}, color);
        if (!hovered) continue;
        ImGui::SetTooltip("iteration %s: %s%s%s%s\nclick shows it, right click sets a target",
                          format_count(static_cast<double>(b.number)).c_str(),
                          format_ms(b.milliseconds()).c_str(),
                          b.incomplete ? " (records were lost)" : "", bars_.how.empty() ? "" : "\n",
                          bars_.how.c_str());
        if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) zoom_to(b.begin_ns, b.end_ns);
    }
    canvas.list->AddLine({canvas.x, y_of(median)}, {canvas.right(), y_of(median)},
                         with_alpha(kTextColor, 90));
    if (target_ms > 0)
        canvas.list->AddLine({canvas.x, y_of(target_ms)}, {canvas.right(), y_of(target_ms)},
                             kGoodColor);
    draw_target_menu(in_bars, median);
}

void TimelinePanel::draw_target_menu(bool in_bars, double median) {
    if (in_bars && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) ImGui::OpenPopup("##target");
    if (!ImGui::BeginPopup("##target")) return;
    dim_text("Iterations longer than the target are marked");
    float wanted = static_cast<float>(target_ms);
    ImGui::SetNextItemWidth(6 * em());
    if (ImGui::InputFloat("ms", &wanted, 0, 0, "%.2f"))
        target_ms = std::max(0.0, static_cast<double>(wanted));
    if (ImGui::MenuItem(("The median: " + format_ms(median)).c_str())) target_ms = median;
    if (ImGui::MenuItem("30 a second")) target_ms = 1000.0 / 30;
    if (ImGui::MenuItem("60 a second")) target_ms = 1000.0 / 60;
    if (ImGui::MenuItem("None")) target_ms = 0;
    ImGui::EndPopup();
}

}  // namespace gs
