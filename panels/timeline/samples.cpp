#include "panels/timeline/samples.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "panels/widgets/widgets.h"
#include "profiler/analysis/stack_profile.h"

namespace gs {
namespace {

constexpr double kLeastBox = 4;  // pixels a sample, on the mean
constexpr std::size_t kFramesTold = 8;

ImU32 waiting_color() { return mix(theme().field, theme().text, 0.25F); }

bool is_pointed_at(const TimelineCanvas& canvas, float left, float right, float y, float height) {
    const ImVec2 mouse = ImGui::GetMousePos();
    return canvas.hovered && mouse.x >= std::max(left, canvas.x) && mouse.x < right &&
           mouse.y >= y && mouse.y < y + height;
}

const StackFrame& innermost(const TraceStore& trace, const StackSample& sample) {
    const SampleBook& book = trace.samples();
    return book.frames()[book.nodes()[sample.stack].frame];
}

}  // namespace

std::string innermost_name(const TraceStore& trace, const StackSample& sample) {
    const StackFrame& frame = innermost(trace, sample);
    const std::string_view name = trace.name(frame.function);
    return frame.kind == FrameKind::native ? short_name(name) : std::string(name);
}

void SamplePainter::draw_row(const TraceStore& trace, const TimelineCanvas& canvas,
                             const SampledThread& thread, float y, float height,
                             const std::optional<SelectedSample>& selected, SpanColors& colors) {
    const SampleRange range = samples_within(thread.samples.view(), canvas.begin, canvas.end);
    if (range.first == range.last) return;
    const Row row{trace, canvas, thread, y, height};
    const auto count = static_cast<double>(range.last - range.first);
    if (static_cast<double>(canvas.w) / count >= kLeastBox)
        draw_boxes(row, range, selected, colors);
    else
        draw_columns(row, range);
}

void SamplePainter::draw_boxes(const Row& row, SampleRange range,
                               const std::optional<SelectedSample>& selected, SpanColors& colors) {
    const auto samples = row.thread.samples.view();
    ImDrawList& list = *row.canvas.list;
    for (const SampleBox& box : boxes_of(samples, range)) {
        const StackSample& s = samples[box.index];
        const float left = row.canvas.clamped_x(box.begin_ns),
                    right = std::max(row.canvas.clamped_x(box.end_ns) - 1, left + 1);
        const bool hovered = is_pointed_at(row.canvas, left, right + 1, row.y, row.height);
        const SelectedSample here{row.thread.process, row.thread.tid, s};
        if (hovered) pointed_ = PointedSamples{here, box.begin_ns, box.end_ns};
        ImU32 color =
            s.blocked ? waiting_color()
                      : colors.of(row.trace, TrackKind::thread, innermost(row.trace, s).function);
        if (hovered) color = mix(color, IM_COL32_WHITE, 0.3F);
        list.AddRectFilled({left, row.y}, {right, row.y + row.height - 1}, color);
        const bool chosen = selected && selected->process == here.process &&
                            selected->tid == here.tid && selected->sample.time_ns == s.time_ns;
        if (chosen)
            list.AddRect({left - 1, row.y - 1}, {right + 1, row.y + row.height}, IM_COL32_WHITE, 0,
                         0, std::max(1.5F, 0.1F * em()));
        const float shown = std::max(left, row.canvas.x), room = right - shown - 0.4F * em();
        if (room < 1.7F * em()) continue;
        const std::string label = fitted(innermost_name(row.trace, s), room);
        if (label.size() > 3 || ImGui::CalcTextSize(label.c_str()).x <= room)
            list.AddText(
                {std::round(shown + 0.2F * em()), std::round(row.y + (row.height - em()) / 2 - 1)},
                text_on(color), label.c_str());
    }
}

void SamplePainter::draw_columns(const Row& row, SampleRange range) {
    const std::int64_t quantum = 2 * block_quantum(row.canvas.ns_per_px);
    const auto samples = row.thread.samples.view();
    const float floor_y = row.y + row.height - 1, full = row.height - 1;
    for (const SampleColumn& column : columns_of(samples, range, quantum)) {
        const float left = row.canvas.clamped_x(column.begin_ns),
                    right = row.canvas.clamped_x(column.end_ns);
        const bool hovered = is_pointed_at(row.canvas, left, right, row.y, row.height);
        const auto lit = [&](ImU32 c) { return hovered ? mix(c, IM_COL32_WHITE, 0.3F) : c; };
        const float middle = floor_y - full * column.on_cpu, top = middle - full * column.blocked;
        if (column.blocked > 0)
            row.canvas.list->AddRectFilled({left, top}, {right, middle}, lit(waiting_color()));
        if (column.on_cpu > 0)
            row.canvas.list->AddRectFilled({left, middle}, {right, floor_y}, lit(theme().accent));
        if (hovered && column.count > 0)
            pointed_ = PointedSamples{{row.thread.process, row.thread.tid, samples[column.first]},
                                      column.begin_ns,
                                      column.end_ns,
                                      column.count,
                                      column.on_cpu,
                                      column.blocked};
    }
}

void samples_tooltip(const TraceStore& trace, const PointedSamples& pointed) {
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(32 * em());
    const StackSample& sample = pointed.one.sample;
    if (pointed.count > 1) {
        text(fmt::format("{} samples within {}", format_count(pointed.count),
                         format_ns(static_cast<double>(pointed.end_ns - pointed.begin_ns))));
        dim_text(fmt::format("on a CPU {}, waiting {}",
                             format_share(static_cast<double>(pointed.on_cpu)),
                             format_share(static_cast<double>(pointed.blocked))));
        dim_text("one of them in " + innermost_name(trace, sample));
        dim_text("click to zoom in");
    } else {
        const std::vector<std::uint32_t> frames = frames_of(trace.samples(), sample.stack);
        for (std::size_t i = 0; i < std::min(frames.size(), kFramesTold); ++i) {
            const StackFrame& frame = trace.samples().frames()[frames[i]];
            const std::string name = fitted(short_name(trace.name(frame.function)), 30 * em());
            i == 0 ? text(name) : dim_text(name);
        }
        if (frames.size() > kFramesTold)
            dim_text(fmt::format("{} more", frames.size() - kFramesTold));
        dim_text(fmt::format("{} for {}; click to show all of it",
                             sample.blocked ? "waiting" : "on a CPU",
                             format_ns(static_cast<double>(sample.weight_ns))));
    }
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
}

}  // namespace gs
