#include "panels/trace/flame_panel.h"

#include <fmt/format.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "panels/widgets/fuzzy.h"
#include "profiler/analysis/stack_profile.h"

namespace gs {
namespace {

float box_height() { return 1.3F * em(); }

std::string box_name(const TraceStore& trace, const CallNode& node) {
    const std::string_view name = trace.name(node.name);
    const bool symbol = node.kind == TrackKind::gpu_stream || node.frame == ProfileKind::native;
    return symbol ? short_name(name) : std::string(name);
}

}  // namespace

void FlamePanel::draw_controls(const TraceStore& trace) {
    process_combo(trace, choice.process);
    int chosen = static_cast<int>(choice.side);
    ImGui::SetNextItemWidth(8.5F * em());
    if (ImGui::Combo("##side", &chosen, "Host threads\0GPU by range\0Call stacks\0"))
        choice.side = static_cast<CallSide>(chosen);
    tooltip(
        "Time of host threads; of the GPU, under the ranges that launched the work; or of the "
        "functions that threads were sampled in (record --stacks), under the ranges around them");
    ImGui::SameLine();
    draw_thread(trace);
    ImGui::SetNextItemWidth(8 * em());
    ImGui::InputTextWithHint("##highlight", "Highlight", &highlight);
    ImGui::SameLine();
    if (zoomed_ != 0) {
        if (ImGui::Button("Zoom out")) zoomed_ = 0;
        ImGui::SameLine();
    }
    range_note(view_, task_, making_.share());
}

/// For call stacks: the chosen thread, with a button for all threads.
void FlamePanel::draw_thread(const TraceStore& trace) {
    if (choice.side != CallSide::stacks || !choice.thread) return;
    const std::string name = thread_name(trace, choice.process, *choice.thread);
    if (ImGui::Button((fitted(name, 7 * em()) + "  x###thread").c_str())) choice.thread.reset();
    tooltip("Only this thread's call stacks; click to show all threads");
    ImGui::SameLine();
}

void FlamePanel::draw_box(const TraceStore& trace, std::uint32_t index, float x, float y,
                          float width, bool above) {
    const CallNode& node = made_.nodes()[index];
    any_box_ = true;
    const float right = std::max(x + width - (width > 3 ? 1.0F : 0.0F), x + 0.5F);
    ImU32 color = index == 0 ? theme().field : colors_.of(trace, node.kind, node.name);
    if (node.frame == ProfileKind::blocked) color = mix(theme().field, theme().text, 0.25F);
    const bool lit =
        !highlight.empty() && index != 0 && contains_text(trace.name(node.name), highlight);
    if (!highlight.empty() && !lit) color = mix(color, theme().panel, 0.65F);
    if (above) color = mix(color, theme().panel, 0.45F);
    const bool hovered =
        ImGui::IsItemHovered() &&
        ImGui::IsMouseHoveringRect({x, y}, {std::max(right, x + 2), y + box_height()});
    if (hovered) pointed_ = index;
    if (hovered) color = mix(color, IM_COL32_WHITE, 0.3F);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled({x, y}, {right, y + box_height() - 1}, color, width > 6 ? 2.0F : 0.0F);
    const float room = width - 0.5F * em();
    if (room < 1.7F * em()) return;
    const std::string name = index == 0
                                 ? std::string(made_.side() == CallSide::cpu   ? "all host threads"
                                               : made_.side() == CallSide::gpu ? "all GPU work"
                                                                               : "all samples")
                                 : box_name(trace, node);
    std::string label = fmt::format("{}  {}", name, format_ns(static_cast<double>(node.total_ns)));
    if (ImGui::CalcTextSize(label.c_str()).x > room) label = fitted(name, room);
    if (label.size() > 3 || ImGui::CalcTextSize(label.c_str()).x <= room)
        list.AddText({std::round(x + 0.25F * em()), std::round(y + (box_height() - em()) / 2 - 1)},
                     text_on(color), label.c_str());
}

void FlamePanel::draw_graph(const TraceStore& trace, Commands& commands) {
    const auto nodes = made_.nodes();
    if (zoomed_ >= nodes.size()) zoomed_ = 0;
    const ImVec2 corner = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    ImGui::InvisibleButton("##flames", {std::max(room.x, 1.0F), std::max(room.y, 1.0F)});
    const bool hovered = ImGui::IsItemHovered();
    pointed_ = 0;
    any_box_ = false;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.PushClipRect(corner, {corner.x + room.x, corner.y + room.y}, true);
    // The path to the zoomed box, then everything below it, level by level.
    std::vector<std::uint32_t> path;
    for (std::uint32_t n = zoomed_; n != 0; n = nodes[n].parent) path.push_back(n);
    path.push_back(0);
    std::reverse(path.begin(), path.end());
    float y = corner.y - scroll_;
    for (const std::uint32_t n : path) {
        draw_box(trace, n, corner.x, y, room.x, n != zoomed_);
        y += box_height();
    }
    struct Level {
        std::uint32_t node;
        float x, width;
    };
    std::vector<Level> level{{zoomed_, corner.x, room.x}}, below;
    float depth = static_cast<float>(path.size());
    while (!level.empty()) {
        below.clear();
        for (const Level& box : level) {
            const CallNode& node = nodes[box.node];
            float x = box.x;
            for (const std::uint32_t child : node.children) {
                const double share = node.total_ns > 0
                                         ? static_cast<double>(nodes[child].total_ns) /
                                               static_cast<double>(node.total_ns)
                                         : 0;
                const float width = box.width * static_cast<float>(share);
                if (width >= 0.5F) {
                    draw_box(trace, child, x, y, width, false);
                    below.push_back({child, x, width});
                }
                x += width;
            }
        }
        std::swap(level, below);
        y += box_height();
        if (!level.empty()) ++depth;
    }
    depth_ = depth * box_height();
    list.PopClipRect();
    if (!hovered) return;
    scroll_ = std::clamp(scroll_ - 3 * box_height() * ImGui::GetIO().MouseWheel, 0.0F,
                         std::max(depth_ - room.y, 0.0F));
    const bool has_spans = nodes[pointed_].frame <= ProfileKind::range;
    if (ImGui::IsMouseReleased(ImGuiMouseButton_Right) && pointed_ != 0 && has_spans)
        commands.push("trace.find", {box_name(trace, nodes[pointed_])});
    if (ImGui::IsMouseReleased(ImGuiMouseButton_Left)) zoomed_ = pointed_;
    if (pointed_ != 0) draw_tooltip(trace, pointed_);
}

void FlamePanel::draw_tooltip(const TraceStore& trace, std::uint32_t index) const {
    const auto nodes = made_.nodes();
    const CallNode& node = nodes[index];
    const auto of = [&](std::int64_t part, std::int64_t whole) {
        return format_share(whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                                      : 0.0);
    };
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(32 * em());
    colored_text(mix(stage_color(node.stage), theme().text, 0.4F), trace.name(node.name));
    text(fmt::format("total {}, {} of all", format_ns(static_cast<double>(node.total_ns)),
                     of(node.total_ns, nodes[0].total_ns)));
    text(fmt::format("self {}, {} of it", format_ns(static_cast<double>(node.self_ns)),
                     of(node.self_ns, node.total_ns)));
    if (made_.side() == CallSide::stacks) {
        dim_text(fmt::format("{} samples, blocked {} of it", node.count,
                             of(node.blocked_ns, node.total_ns)));
        if (node.frame > ProfileKind::range) dim_text("in " + std::string(trace.name(node.module)));
    } else if (node.count > 0)
        dim_text(fmt::format(
            "{} times, mean {}", format_count(static_cast<double>(node.count)),
            format_ns(static_cast<double>(node.total_ns) / static_cast<double>(node.count))));
    if (node.parent != 0) dim_text("inside " + box_name(trace, nodes[node.parent]));
    if (node.inferred) dim_text("some of it is placed here only by its time");
    dim_text(node.frame <= ProfileKind::range ? "click to zoom, right click to find its spans"
                                              : "click to zoom");
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
}

/// The requested subject; for another trace everything, or call stacks if it has only these.
void FlamePanel::take_choice(const Snapshot& snapshot, const TraceStore& trace) {
    if (task_.store != &trace || task_.id != snapshot.shown_trace) {
        choice.thread.reset();
        if (trace.span_count() == 0 && !trace.samples().empty()) choice.side = CallSide::stacks;
    }
    if (!view_.flame) return;
    choice = *view_.flame;
    view_.flame.reset();
    zoomed_ = 0;
}

void FlamePanel::draw(const Snapshot& snapshot, Commands& commands) {
    busy_ = false;
    const TraceStore* trace = snapshot.shown();
    if (!trace || (trace->tracks().empty() && trace->samples().empty())) {
        empty_note("Train or open a trace to see call paths here");
        return;
    }
    const bool other = task_.store != trace || task_.id != snapshot.shown_trace;
    take_choice(snapshot, *trace);
    if (task_.begin(snapshot, *trace, view_,
                    fmt::format("{} {} {}", static_cast<int>(choice.side), choice.process,
                                choice.thread ? static_cast<std::int64_t>(*choice.thread) : -1))) {
        making_ = CallTree(*trace, task_.range, choice.side, choice.process, choice.thread);
        if (other) made_ = {}, zoomed_ = 0, colors_.forget();
    }
    if (task_.running && making_.advance(*trace, TraceTask::kSliceMs)) {
        // Zoomed into the same path as before, where there still is one: nodes are numbered as they
        // are met.
        const bool same = zoomed_ < made_.nodes().size() && zoomed_ < making_.nodes().size() &&
                          made_.side() == making_.side() &&
                          made_.nodes()[zoomed_].name == making_.nodes()[zoomed_].name;
        made_ = std::move(making_);
        making_ = {};
        if (!same) zoomed_ = 0;
        task_.running = false;
    }
    busy_ = task_.running;
    draw_controls(*trace);
    if (made_.nodes().size() < 2) {
        empty_note(task_.running                  ? "Adding up"
                   : choice.side == CallSide::gpu ? "No GPU work was recorded here"
                   : choice.side == CallSide::stacks
                       ? "No call stacks here: record with gausscope record --stacks"
                       : "No ranges were recorded here");
        return;
    }
    draw_graph(*trace, commands);
}

}  // namespace gs
