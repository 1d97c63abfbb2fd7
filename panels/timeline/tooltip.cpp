#include "panels/timeline/tooltip.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "base/format.h"
#include "panels/widgets/widgets.h"
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

}  // namespace

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

}  // namespace gs
