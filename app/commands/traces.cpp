// Commands about traces: opening, attaching, choosing what the timeline shows, finding in it.
#include <limits>

#include "app/commands/commands.h"
#include "app/studio/arguments.h"
#include "app/studio/studio.h"
#include "base/file.h"
#include "base/try.h"

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
    return ask(state,
               [pid](Studio& s) { return s.traces().attach(static_cast<std::uint32_t>(pid)); });
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

Result<TimeRange> time_range(A a) {
    GS_TRY(const auto begin, integer_argument(a[0], 0, kMostTime, "the begin"));
    GS_TRY(const auto end, integer_argument(a[1], 0, kMostTime, "the end"));
    if (begin > end) return fail(ErrorKind::usage, "", "a stretch of time begins before it ends");
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
    if (a.size() == 1) return fail(ErrorKind::usage, "", "a stretch of time is BEGIN END");
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
     "Reads a Perfetto or Chrome trace (.pftrace, .json, gzipped or not) and shows it in the "
     "timeline.", open},
    {"trace.attach",    "Attach to a process...",   "File 2", "",       "PID",
     "Shows live what a process under the profiling service records.", attach},
    {"trace.show",      "Show a trace",             "",     "",       "TRACE",
     "Which open trace the timeline shows, by name or number.", show},
    {"trace.close",     "Close a trace",            "",     "",       "TRACE",
     "Closes an opened trace or lets go of a process; stops reading a file.", close},
    {"statistics.save", "Save the statistics...",   "File 3", "",       "PATH",
     "Writes the table of the Statistics panel as CSV.", save_statistics},
    {"trace.find",      "Find in the trace",        "View 5", "Ctrl+F", "[NAME]",
     "Lists the spans of a name with their distribution.", find},
    {"timeline.show",   "Show a moment",            "",     "",       "BEGIN END [TRACK ROW]",
     "Shows this stretch of time (nanoseconds); with a track, selects its span that begins "
     "there.", show_time},
    {"timeline.select", "Select a stretch of time", "",     "",       "[BEGIN END]",
     "What find, statistics, flame graph and compare look at; without arguments: "
     "everything.", select_time},
};
// clang-format on

}  // namespace

std::span<const CommandRow> trace_commands() { return kRows; }

}  // namespace gs
