// Commands about traces: opening, attaching, choosing what the timeline shows, finding in it.
#include <fmt/format.h>

#include <limits>
#include <optional>

#include "app/commands/settings.h"
#include "app/studio/studio.h"
#include "base/file.h"
#include "panels/trace/statistics_panel.h"
#include "profiler/store/node_gpus.h"

namespace gs {
namespace command::traces {

using namespace args;

constexpr std::int64_t kMostPid = std::numeric_limits<std::int32_t>::max();

Result<void> attach(Studio& studio, std::uint32_t pid, bool stacks) {
    constexpr int kStacksHz = 99;
    return attach_to_process(studio, pid, stacks ? kStacksHz : 0);
}
Result<void> show(Studio& studio, const std::string& trace) {
    return studio.traces().library().show(trace);
}
Result<void> close(Studio& studio, const std::string& trace) {
    return studio.traces().library().close(trace);
}
Result<void> save_statistics(Studio& studio, const std::string& path) {
    GS_TRY_VOID(write_text_file(
        path, studio.ui().workspace().panel<StatisticsPanel>().csv(studio.traces().shown())));
    studio.wrote(path);
    return {};
}
Result<void> find(StudioUi& ui, const std::string& name) {
    ui.workspace().trace_view.find = name;
    return ui.show_panel("Find", false);
}

/// The process of the shown trace with that number.
Result<std::uint32_t> shown_process(const TraceStore& trace, std::uint32_t pid) {
    if (const auto found = process_of_pid(trace.processes(), pid)) return *found;
    return fail(ErrorKind::usage, "", fmt::format("the shown trace has no process {}", pid));
}
Result<void> flame(Studio& studio, std::optional<CallSide> side, std::optional<std::uint32_t> pid,
                   std::optional<std::uint32_t> thread) {
    if (side) {
        FlameChoice choice{.side = *side};
        if (pid) {
            GS_TRY(choice.process, shown_process(studio.traces().shown(), *pid));
        }
        if (thread && *side != CallSide::stacks)
            return fail(ErrorKind::usage, "", "only a graph of call stacks takes a thread");
        if (thread) choice.thread = *thread;
        studio.ui().workspace().trace_view.flame = choice;
    }
    return studio.ui().show_panel("Flame graph", false);
}

/// BEGIN END in nanoseconds.
Parameter<TimeRange> time_range() {
    const auto ends = both(whole("BEGIN", 0, kMost), whole("END", 0, kMost));
    return {ends, [read = ends.read](StudioState& state, Words& words) -> Result<TimeRange> {
                GS_TRY(const auto range, read(state, words));
                if (range.first <= range.second) return TimeRange{range.first, range.second};
                return fail(ErrorKind::usage, "", "a time range must begin before it ends");
            }};
}
/// `span`: its track and row.
Result<void> show_time(StudioUi& ui, TimeRange range,
                       const std::optional<std::pair<std::int64_t, std::int64_t>>& span) {
    TracePlace place{range, kNoTrack, 0};
    if (span) {
        place.track = static_cast<std::uint32_t>(span->first);
        place.row = static_cast<std::size_t>(span->second);
    }
    ui.workspace().trace_view.jump = place;
    return ui.show_panel("Timeline", false);
}
void select_time(StudioUi& ui, const std::optional<TimeRange>& range) {
    ui.workspace().trace_view.selection = range;
}

// clang-format off
const CommandRow kRows[] = {
    {"trace.open",      "Open a trace…",          "File 2",
     "Read a Perfetto or Chrome trace (.pftrace, .json, gzipped or not) and show it in the "
     "timeline.", &Studio::open_trace, word("PATH")},
    {"trace.attach",    "Attach to a process…",   "File 2",
     "Show live records of a process under the profiling service, the training of one that calls "
     "gausscope.attach(), or the call stacks of any process.", attach, whole("PID", 1, kMostPid), flag("stacks")},
    {"trace.show",      "Show a trace",             "",
     "Show an open trace in the timeline, by name or number.", show, word("TRACE")},
    {"trace.close",     "Close a trace",            "",
     "Close an open trace, detach from a process, or stop reading a file.", close, word("TRACE")},
    {"statistics.save", "Save the statistics…",   "File 3",
     "Write the table of the Statistics panel as CSV.", save_statistics, word("PATH")},
    {"trace.find",      "Find in the trace",        "View 5",
     "List the spans of a name with their distribution.", find, optional_word("NAME")},
    {"trace.flame",     "Flame graph",              "",
     "Show call paths by time: of host threads, of the GPU, or of sampled call "
     "stacks; for one process, and call stacks for one thread.",
     flame, optional(choice("threads|gpu|stacks")), optional(whole("PID", 0, kNoTrack)),
     optional(whole("TID", 0, kNoTrack))},
    {"timeline.show",   "Show a time range",        "",
     "Show this time range (nanoseconds); with a track, select its span that begins "
     "there.", show_time, time_range(), optional(both(whole("TRACK", 0, kNoTrack), whole("ROW", 0, 255)))},
    {"timeline.select", "Select a time range",      "",
     "Limit find, statistics, flame graph and compare to this range; without arguments: "
     "everything.", select_time, optional(time_range())},
};
// clang-format on

}  // namespace command::traces

std::span<const CommandRow> trace_commands() { return command::traces::kRows; }

}  // namespace gs
