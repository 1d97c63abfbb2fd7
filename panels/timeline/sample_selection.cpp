#include "panels/timeline/sample_selection.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>

#include "base/format.h"
#include "panels/widgets/widgets.h"
#include "profiler/analysis/stack_profile.h"

namespace gs {
namespace {

/// "matmul(float*)  gemm.cpp:88", "train  /src/train.py:12", "start  libc.so.6".
std::string frame_text(const TraceStore& trace, std::uint32_t index) {
    const StackFrame& frame = trace.samples().frames()[index];
    const std::string_view file = trace.name(frame.file), module = trace.name(frame.module);
    std::string out(trace.name(frame.function));
    if (!file.empty())
        out += fmt::format("  {}{}", file,
                           frame.line != 0 ? fmt::format(":{}", frame.line) : std::string());
    else if (!module.empty())
        out += fmt::format("  {}", module);
    return out;
}

}  // namespace

const StackSample* SampleSelection::kept(const TraceStore& trace) const {
    if (!sample_) return nullptr;
    const SampledThread* thread = trace.samples().thread(sample_->process, sample_->tid);
    if (thread == nullptr) return nullptr;
    const auto all = thread->samples.view();
    const auto at =
        std::lower_bound(all.begin(), all.end(), sample_->sample.time_ns,
                         [](const StackSample& s, std::int64_t time) { return s.time_ns < time; });
    return at != all.end() && at->time_ns == sample_->sample.time_ns ? &*at : nullptr;
}

bool SampleSelection::select_neighbour(const TraceStore& trace, int step) {
    const StackSample* at = kept(trace);
    if (at == nullptr) return false;
    const auto all = trace.samples().thread(sample_->process, sample_->tid)->samples.view();
    const std::ptrdiff_t next = at - all.data() + step;
    if (next < 0 || next >= static_cast<std::ptrdiff_t>(all.size())) return false;
    sample_->sample = all[static_cast<std::size_t>(next)];
    return true;
}

float SampleSelection::details_height() const { return sample_ ? 8 * em() : 0; }

/// At the right of the heading. True when the selection is to end.
bool SampleSelection::draw_buttons(const TraceStore& trace, float width, TimeAxis& axis,
                                   Commands& commands) {
    ImGui::SameLine(std::max(width - 15 * em(), 0.0F));
    if (ImGui::SmallButton("Flame graph"))
        commands.push("trace.flame",
                      {"stacks", std::to_string(trace.processes()[sample_->process].pid),
                       std::to_string(sample_->tid)});
    tooltip("Show all call stacks of this thread, in the selected time range if there is one");
    ImGui::SameLine();
    const StackSample& s = sample_->sample;
    if (ImGui::SmallButton("Zoom")) axis.zoom_to(s.time_ns - s.weight_ns, s.time_ns);
    ImGui::SameLine();
    if (const StackSample* sample = kept(trace); ImGui::SmallButton("Copy") && sample) {
        std::string all;
        for (const std::uint32_t frame : frames_of(trace.samples(), sample->stack))
            all += frame_text(trace, frame) + "\n";
        ImGui::SetClipboardText(all.c_str());
    }
    ImGui::SameLine();
    const bool ended = ImGui::SmallButton("x");
    tooltip("Clear the selection (Esc); use left and right arrow for the previous and next sample");
    return ended;
}

void SampleSelection::draw_details(const TraceStore& trace, const TimelineCanvas& canvas,
                                   TimeAxis& axis, Commands& commands) {
    if (!sample_ || sample_->process >= trace.processes().size()) return sample_.reset();
    const float left = canvas.x - canvas.labels, width = canvas.labels + canvas.w;
    ImGui::SetCursorScreenPos({left, canvas.bottom() + 0.25F * em()});
    ImGui::BeginChild("##stack", {width, details_height() - 0.25F * em()}, false,
                      ImGuiWindowFlags_AlwaysUseWindowPadding);
    const StackSample* sample = kept(trace);
    const std::string thread = thread_name(trace, sample_->process, sample_->tid);
    text(fitted(fmt::format("{}: {} {}", thread, sample_->sample.blocked ? "waiting" : "on a CPU",
                            format_ns(static_cast<double>(sample_->sample.weight_ns))),
                width - 16 * em()));
    const bool ended = draw_buttons(trace, width, axis, commands);
    if (!sample) dim_text("no longer kept");
    bool first = true;
    for (const std::uint32_t frame :
         sample ? frames_of(trace.samples(), sample->stack) : std::vector<std::uint32_t>()) {
        const std::string line = fitted(frame_text(trace, frame), width - 2 * em());
        first ? text(line) : dim_text(line);
        first = false;
    }
    ImGui::EndChild();
    if (ended) sample_.reset();
}

}  // namespace gs
