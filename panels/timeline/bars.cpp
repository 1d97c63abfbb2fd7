#include "panels/timeline/bars.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/widgets/widgets.h"
#include "profiler/analysis/iterations.h"
#include "profiler/store/statistics.h"

namespace gs {
namespace {

constexpr std::size_t kMostBars = 4096;
constexpr double kLookAgain = 3.0;  // seconds between two searches for iterations of a live trace

}  // namespace

void IterationBars::gather(const TraceStore& trace, std::optional<std::uint32_t> wanted) {
    const auto frames = trace.frames().history(StatScope::iteration);
    const std::uint32_t process = wanted.value_or(frames.empty() ? 0 : frames.back().process);
    const bool own = std::any_of(frames.rbegin(), frames.rend(),
                                 [&](const FrameSample& f) { return f.process == process; });
    if (own) {
        const std::uint64_t made_of =
            frames.size() ^ static_cast<std::uint64_t>(frames.back().end_ns) ^ process;
        if (made_of == made_of_) return;
        bars_.clear();
        how_.clear();
        made_of_ = made_of;
        made_at_ = ImGui::GetTime();
        for (auto f = frames.rbegin(); f != frames.rend() && bars_.size() < kMostBars; ++f)
            if (f->process == process)
                bars_.push_back({f->number, f->begin_ns, f->end_ns, f->incomplete});
        std::reverse(bars_.begin(), bars_.end());
        return;
    }
    const std::uint64_t made_of = trace.span_count() + 1;
    if (made_of_ == made_of || ImGui::GetTime() - made_at_ < kLookAgain) return;
    Iterations found;
    for (std::uint32_t i = 0; i < trace.processes().size() && found.items.empty(); ++i)
        found = find_iterations(trace, i);
    bars_.clear();
    how_ = found.how;
    made_of_ = made_of;
    made_at_ = ImGui::GetTime();
    const std::size_t first = found.items.size() > kMostBars ? found.items.size() - kMostBars : 0;
    for (std::size_t i = first; i < found.items.size(); ++i)
        bars_.push_back(
            {found.items[i].number, found.items[i].begin_ns, found.items[i].end_ns, false});
}

void IterationBars::show_last(TimeAxis& axis) const {
    if (!bars_.empty()) axis.zoom_to(bars_.back().begin_ns, bars_.back().end_ns);
}

/// As many as fit: the newest, or those around the visible range if it is not the newest.
std::span<const IterationBars::Bar> IterationBars::in_view(const TimelineCanvas& canvas,
                                                           std::size_t fit, bool follow) const {
    const std::span<const Bar> all(bars_);
    if (all.size() <= fit) return all;
    if (follow) return all.last(fit);
    const auto middle = std::lower_bound(all.begin(), all.end(), (canvas.begin + canvas.end) / 2,
                                         [](const Bar& b, std::int64_t t) { return b.end_ns < t; });
    const auto at = static_cast<std::size_t>(middle - all.begin());
    return all.subspan(std::min(at > fit / 2 ? at - fit / 2 : 0, all.size() - fit), fit);
}

void IterationBars::draw(const TimelineCanvas& canvas, float y, TimeAxis& axis) {
    const float bottom = y + bars_height() - 2, label = canvas.x - canvas.labels;
    canvas.list->AddText({label, y + 0.2F * em()}, theme().dim, "iterations");
    if (bars_.empty()) {
        canvas.list->AddText({canvas.x, y + 0.2F * em()}, theme().faint, "none in this trace");
        return;
    }
    // The newest at the right; which of them are in view below are brighter.
    const float bar = std::max(3.0F, 0.3F * em());
    const auto fit = static_cast<std::size_t>(std::max(canvas.w / bar, 1.0F));
    const std::span<const Bar> shown = in_view(canvas, fit, axis.follow);
    std::vector<double> sorted;
    for (const Bar& b : shown) sorted.push_back(b.milliseconds());
    std::sort(sorted.begin(), sorted.end());
    const double median = percentile(sorted, 50);
    const double top = std::max({percentile(sorted, 95) * 1.25, target_ms_ * 1.1, 1e-6});
    const float range = bottom - y - 0.2F * em();
    const auto y_of = [&](double ms) {
        return bottom - range * static_cast<float>(std::min(ms / top, 1.0));
    };
    canvas.list->AddText(
        {label, y + 1.2F * em()}, theme().faint,
        fitted("median " + format_ms(median), canvas.labels - 0.3F * em()).c_str());
    const bool in_bars = ImGui::IsWindowHovered() &&
                         ImGui::IsMouseHoveringRect({canvas.x, y}, {canvas.right(), bottom});
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const Bar& b = shown[i];
        const float left = canvas.x + static_cast<float>(i) * bar;
        const bool in_view = b.end_ns > canvas.begin && b.begin_ns < canvas.end;
        const bool hovered =
            in_bars && ImGui::GetMousePos().x >= left && ImGui::GetMousePos().x < left + bar;
        const bool slow = b.milliseconds() > (target_ms_ > 0 ? target_ms_ : 1.5 * median);
        const ImU32 color =
            hovered        ? theme().text
            : b.incomplete ? theme().faint
            : slow    ? (in_view ? theme().warning : mix(theme().warning, theme().panel, 0.35F))
            : in_view ? theme().accent
                      : color_rgb(0x3c5878);
        canvas.list->AddRectFilled({left, std::min(y_of(b.milliseconds()), bottom - 1)},
                                   {left + bar - 1, bottom}, color);
        if (!hovered) continue;
        ImGui::SetTooltip("iteration %s: %s%s%s%s\nclick to show it, right click to set a target",
                          format_count(static_cast<double>(b.number)).c_str(),
                          format_ms(b.milliseconds()).c_str(),
                          b.incomplete ? " (records lost)" : "", how_.empty() ? "" : "\n",
                          how_.c_str());
        if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) axis.zoom_to(b.begin_ns, b.end_ns);
    }
    canvas.list->AddLine({canvas.x, y_of(median)}, {canvas.right(), y_of(median)},
                         with_alpha(theme().text, 90));
    if (target_ms_ > 0)
        canvas.list->AddLine({canvas.x, y_of(target_ms_)}, {canvas.right(), y_of(target_ms_)},
                             theme().good);
    draw_target_menu(in_bars, median);
}

void IterationBars::draw_target_menu(bool in_bars, double median) {
    if (in_bars && ImGui::IsMouseReleased(ImGuiMouseButton_Right)) ImGui::OpenPopup("##target");
    if (!ImGui::BeginPopup("##target")) return;
    dim_text("Mark iterations longer than the target");
    float wanted = static_cast<float>(target_ms_);
    ImGui::SetNextItemWidth(6 * em());
    if (ImGui::InputFloat("ms", &wanted, 0, 0, "%.2f"))
        target_ms_ = std::max(0.0, static_cast<double>(wanted));
    if (ImGui::MenuItem(("The median: " + format_ms(median)).c_str())) target_ms_ = median;
    if (ImGui::MenuItem("30 per second")) target_ms_ = 1000.0 / 30;
    if (ImGui::MenuItem("60 per second")) target_ms_ = 1000.0 / 60;
    if (ImGui::MenuItem("None")) target_ms_ = 0;
    ImGui::EndPopup();
}

}  // namespace gs
