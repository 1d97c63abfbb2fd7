// Shared by the panels that analyse a trace: the trace and its time range, when to compute again,
// and the progress. Used by Find, Statistics, Flame graph and Compare.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/format.h"
#include "panels/state/snapshot.h"
#include "panels/state/trace_view.h"
#include "panels/widgets/widgets.h"
#include "profiler/analysis/span_walk.h"
#include "profiler/store/node_gpus.h"

namespace gs {

/// Inputs of a result. A live trace is analysed again some seconds after it has grown.
struct TraceTask {
    const TraceStore* store = nullptr;
    std::uint64_t id = 0;
    TimeRange range = kAllTime;
    std::string choice;      ///< what else decides the result, as text
    std::uint64_t held = 0;  ///< spans and samples
    double begun_at = -1e9;
    bool running = false;

    static constexpr double kLookAgain = 3;  ///< seconds
    static constexpr double kSliceMs = 3;    ///< of a frame

    /// True when the result has to be made (again); it is then noted as running.
    bool begin(const Snapshot& snapshot, const TraceStore& trace, const TraceView& view,
               const std::string& wanted) {
        const TimeRange now = view.selection.value_or(kAllTime);
        const bool other =
            store != &trace || id != snapshot.shown_trace || !(range == now) || choice != wanted;
        const std::uint64_t size = trace.span_count() + trace.samples().count();
        const bool grown = !running && held != size && ImGui::GetTime() - begun_at > kLookAgain;
        if (!other && !grown) return false;
        *this = {&trace, snapshot.shown_trace, now, wanted, size, ImGui::GetTime(), true};
        return true;
    }
    bool whole() const { return range == kAllTime; }
};

/// "of everything", or the length of the selection with a button to clear it: the scope of a
/// panel's figures.
inline void range_note(TraceView& view, const TraceTask& task, double share) {
    if (task.running && share < 1) {
        dim_text("looking, " + format_share(share));
        return;
    }
    if (!view.selection) {
        dim_text("of everything; drag with Shift in the timeline for a stretch");
        return;
    }
    dim_text("of the selected " + format_ns(view.selection->length_ns()));
    ImGui::SameLine();
    if (ImGui::SmallButton("All of it")) view.selection.reset();
}

/// The process of a choice by name; empty names are all of them.
inline void process_combo(const TraceStore& trace, std::uint32_t& process) {
    const std::vector<std::uint32_t> choices = recorded_processes(trace.processes());
    if (choices.size() < 2) {
        process = kAnyProcess;
        return;
    }
    const auto label = [&](std::uint32_t i) {
        const TraceProcess& p = trace.processes()[i];
        return p.name + " (" + std::to_string(p.pid) + ")";
    };
    ImGui::SetNextItemWidth(9 * em());
    if (ImGui::BeginCombo("##process", process < trace.processes().size() ? label(process).c_str()
                                                                          : "all processes")) {
        if (ImGui::Selectable("all processes", process == kAnyProcess)) process = kAnyProcess;
        for (const std::uint32_t i : choices)
            if (ImGui::Selectable(label(i).c_str(), i == process)) process = i;
        ImGui::EndCombo();
    }
    ImGui::SameLine();
}

}  // namespace gs
