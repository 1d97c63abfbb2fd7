// Commands about traces: opening, attaching, choosing what the timeline shows, finding in it.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "app/commands/commands.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/file.h"
#include "base/try.h"
#include "profiler/store/node_gpus.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;

constexpr std::int64_t kMostTime = std::numeric_limits<std::int64_t>::max();

Result<void> open(S state, A a) {
    return ask(state, [path = a[0]](Studio& s) { return s.open_trace(path); });
}
Result<void> attach(S state, A a) {
    constexpr std::int64_t kMostPid = std::numeric_limits<std::int32_t>::max();
    GS_TRY(const auto pid, integer_argument(a[0], 1, kMostPid, "the process"));
    constexpr int kStacksHz = 99;
    if (a.size() > 1 && a[1] != "stacks")
        return fail(ErrorKind::usage, "", "after the process only \"stacks\" may follow");
    return ask(state, [pid, hz = a.size() > 1 ? kStacksHz : 0](Studio& s) {
        return s.traces().attach(static_cast<std::uint32_t>(pid), hz);
    });
}
Result<void> show(S state, A a) {
    return ask(state, [which = a[0]](Studio& s) { return s.traces().show(which); });
}
Result<void> close(S state, A a) {
    return ask(state, [which = a[0]](Studio& s) { return s.traces().close(which); });
}
Result<void> save_statistics(S state, A a) {
    return ask(state, [path = a[0]](Studio& s) -> Result<void> {
        GS_TRY_VOID(write_text_file(path, s.ui().statistics_csv(s.shown_trace())));
        s.wrote(path);
        return {};
    });
}
Result<void> find(S state, A a) {
    return ask(state, [name = a.empty() ? "" : a[0]](Studio& s) {
        s.ui().trace_view().find = name;
        return s.ui().show_panel("Find", false);
    });
}

/// The process of the shown trace with that number.
Result<std::uint32_t> shown_process(const TraceStore& trace, std::uint32_t pid) {
    if (const auto found = process_of_pid(trace.processes(), pid)) return *found;
    return fail(ErrorKind::usage, "", fmt::format("the shown trace has no process {}", pid));
}
Result<void> flame(S state, A a) {
    FlameChoice choice;
    std::optional<std::uint32_t> pid;
    if (!a.empty()) {
        constexpr std::string_view kSides[] = {"threads", "gpu", "stacks"};
        const auto side = std::find(std::begin(kSides), std::end(kSides), a[0]);
        if (side == std::end(kSides))
            return fail(ErrorKind::usage, "", "a flame graph shows threads, gpu or stacks");
        choice.side = static_cast<CallSide>(side - std::begin(kSides));
    }
    if (a.size() > 1) {
        GS_TRY(const auto given, integer_argument(a[1], 0, kNoTrack, "the process"));
        pid = static_cast<std::uint32_t>(given);
    }
    if (a.size() > 2) {
        GS_TRY(const auto tid, integer_argument(a[2], 0, kNoTrack, "the thread"));
        choice.thread = static_cast<std::uint32_t>(tid);
        if (choice.side != CallSide::stacks)
            return fail(ErrorKind::usage, "", "only a graph of call stacks takes a thread");
    }
    return ask(state, [choice, pid, chosen = !a.empty()](Studio& s) mutable -> Result<void> {
        if (pid) {
            GS_TRY(choice.process, shown_process(s.shown_trace(), *pid));
        }
        if (chosen) s.ui().trace_view().flame = choice;
        return s.ui().show_panel("Flame graph", false);
    });
}

Result<TimeRange> time_range(A a) {
    GS_TRY(const auto begin, integer_argument(a[0], 0, kMostTime, "the begin"));
    GS_TRY(const auto end, integer_argument(a[1], 0, kMostTime, "the end"));
    if (begin > end) return fail(ErrorKind::usage, "", "a time range must begin before it ends");
    return TimeRange{begin, end};
}
Result<void> show_time(S state, A a) {
    GS_TRY(const TimeRange range, time_range(a));
    TracePlace place{range, kNoTrack, 0};
    if (a.size() == 3) return fail(ErrorKind::usage, "", "a span is BEGIN END TRACK ROW");
    if (a.size() == 4) {
        GS_TRY(const auto track, integer_argument(a[2], 0, kNoTrack, "the track"));
        GS_TRY(const auto row, integer_argument(a[3], 0, 255, "the row"));
        place.track = static_cast<std::uint32_t>(track);
        place.row = static_cast<std::size_t>(row);
    }
    return ask(state, [place](Studio& s) {
        s.ui().trace_view().jump = place;
        return s.ui().show_panel("Timeline", false);
    });
}
Result<void> select_time(S state, A a) {
    if (a.size() == 1) return fail(ErrorKind::usage, "", "a time range is BEGIN END");
    std::optional<TimeRange> selected;
    if (!a.empty()) {
        GS_TRY(selected, time_range(a));
    }
    return ask(state, [selected](Studio& s) -> Result<void> {
        s.ui().trace_view().selection = selected;
        return {};
    });
}

// clang-format off
const CommandRow kRows[] = {
    {"trace.open",      "Open a trace...",          "File 2", "",       "PATH",
     "Read a Perfetto or Chrome trace (.pftrace, .json, gzipped or not) and show it in the "
     "timeline.", open},
    {"trace.attach",    "Attach to a process...",   "File 2", "",       "PID [stacks]",
     "Show live records of a process under the profiling service, or the call stacks of any "
     "process.", attach},
    {"trace.show",      "Show a trace",             "",     "",       "TRACE",
     "Show an open trace in the timeline, by name or number.", show},
    {"trace.close",     "Close a trace",            "",     "",       "TRACE",
     "Close an open trace, detach from a process, or stop reading a file.", close},
    {"statistics.save", "Save the statistics...",   "File 3", "",       "PATH",
     "Write the table of the Statistics panel as CSV.", save_statistics},
    {"trace.find",      "Find in the trace",        "View 5", "Ctrl+F", "[NAME]",
     "List the spans of a name with their distribution.", find},
    {"trace.flame",     "Flame graph",              "",     "",     "[threads|gpu|stacks] [PID] [TID]",
     "Show call paths by time: of host threads, of the GPU, or of sampled call "
     "stacks; for one process, and call stacks for one thread.", flame},
    {"timeline.show",   "Show a time range",        "",     "",       "BEGIN END [TRACK ROW]",
     "Show this time range (nanoseconds); with a track, select its span that begins "
     "there.", show_time},
    {"timeline.select", "Select a time range",      "",     "",       "[BEGIN END]",
     "Limit find, statistics, flame graph and compare to this range; without arguments: "
     "everything.", select_time},
};
// clang-format on

}  // namespace

std::span<const CommandRow> trace_commands() { return kRows; }

}  // namespace gs
