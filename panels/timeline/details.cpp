// What the timeline says about a span: the tooltip of the one under the mouse, the strip below
// about the selected one.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "base/format.h"
#include "panels/timeline/metrics.h"
#include "panels/timeline/timeline_panel.h"
#include "profiler/analysis/timeline_facts.h"

namespace gs {
namespace {

constexpr std::size_t kTooltipFacts = 9;
constexpr std::uint32_t kMostCounted =
    200'000;  // spans of a block that are added up while the mouse rests on it

/// The share of a block's time that its spans take, exactly.
std::string busy_text(std::span<const TraceSpan> spans, const SpanBlock& block) {
    if (block.count > kMostCounted) return {};
    std::int64_t busy = 0;
    for (std::uint32_t i = 0; i < block.count && block.first + i < spans.size(); ++i)
        busy += spans[block.first + i].length_ns();
    return fmt::format(", busy {}", format_share(static_cast<double>(busy) /
                                                 static_cast<double>(std::max<std::int64_t>(
                                                     block.end_ns - block.begin_ns, 1))));
}

}  // namespace

void TimelinePanel::span_tooltip(const TraceStore& trace) const {
    const SpanBlock& block = pointed_->block;
    const Place& place = pointed_->place;
    const TraceTrack& track = trace.tracks()[place.track];
    const std::string_view name = trace.name(block.name);
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(32 * em());
    const auto spans =
        place.row < track.rows.size() ? track.rows[place.row].view() : std::span<const TraceSpan>();
    const ImU32 color =
        mix(stage_color(place.kind == TrackKind::gpu_stream ? trace.names().gpu_stage(block.name)
                                                            : trace.names().stage(block.name)),
            kTextColor, 0.4F);
    if (block.count > 1) {
        text(fmt::format("{} spans too small to tell apart", format_count(block.count)));
        dim_text(fmt::format("within {}{}; many of them {}",
                             format_ns(static_cast<double>(block.end_ns - block.begin_ns)),
                             place.projected ? std::string() : busy_text(spans, block),
                             short_name(name)));
        dim_text("click zooms in");
    } else if (place.projected) {
        colored_text(color, name);
        text(format_ns(static_cast<double>(block.end_ns - block.begin_ns)) +
             " of GPU time, first to last piece of work");
        dim_text("the range as the GPU saw it; click zooms to it");
    } else if (pointed_->open) {
        colored_text(color, name);
        text("still running, for " +
             format_ns(static_cast<double>(trace.sources().read_ns() - block.begin_ns)));
    } else if (block.first < spans.size()) {
        colored_text(color, name);
        const auto facts = facts_of(trace, place.track, place.row, spans[block.first]);
        for (std::size_t i = 0; i < std::min(facts.size(), kTooltipFacts); ++i)
            dim_text(facts[i].label + ": " + facts[i].value);
        dim_text("click selects, double click zooms");
    }
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
}

float TimelinePanel::details_height() const { return selected_ ? 4.2F * em() : 0; }

/// Name and facts of the selected span, in as many columns as there is room for.
void TimelinePanel::draw_details(const TraceStore& trace, const TimelineCanvas& canvas,
                                 Commands& commands) {
    if (!selected_) return;
    const float left = canvas.x - canvas.labels, width = canvas.labels + canvas.w;
    ImGui::SetCursorScreenPos({left, canvas.bottom() + 0.25F * em()});
    ImGui::BeginChild("##details", {width, details_height() - 0.25F * em()}, false,
                      ImGuiWindowFlags_AlwaysUseWindowPadding);
    const TraceSpan* span =
        kept_span(trace, selected_->track, selected_->row, selected_->span.begin_ns);
    const std::string name(trace.name(selected_->span.name));
    colored_text(mix(colors_.of(trace, trace.tracks()[selected_->track].kind, selected_->span.name),
                     kTextColor, 0.45F),
                 fitted(name, width - 15 * em()));
    if (ImGui::IsItemHovered()) tooltip(name);
    ImGui::SameLine(std::max(width - 14 * em(), 0.0F));
    if (ImGui::SmallButton("Find all")) commands.push("trace.find", {short_name(name)});
    tooltip("All spans of this name, with their distribution");
    ImGui::SameLine();
    if (ImGui::SmallButton("Zoom")) zoom_to(selected_->span.begin_ns, selected_->span.end_ns);
    ImGui::SameLine();
    if (ImGui::SmallButton("Copy")) {
        std::string all = name + "\n";
        if (span)
            for (const SpanFact& fact : facts_of(trace, selected_->track, selected_->row, *span))
                all += fact.label + ": " + fact.value + "\n";
        ImGui::SetClipboardText(all.c_str());
    }
    ImGui::SameLine();
    const bool dropped = ImGui::SmallButton("x");
    tooltip("Ends the selection (Esc); left and right arrow go to the neighbours of the same name");
    if (!span) {
        dim_text("no longer kept");
    } else {
        float x = 0;
        for (const SpanFact& fact : facts_of(trace, selected_->track, selected_->row, *span)) {
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
    }
    ImGui::EndChild();
    if (dropped) selected_.reset();
}

}  // namespace gs
