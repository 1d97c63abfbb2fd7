// Commands about traces: opening, attaching, choosing what the timeline shows, finding in it.
#include "app/commands/commands.h"

namespace gs {
namespace {

using A = const Arguments&;
using S = StudioState&;
constexpr std::int64_t kMostTime = std::numeric_limits<std::int64_t>::max();

Result<void> ask(S state, UiAction action) {
    state.ui_actions.push_back(std::move(action));
    return {};
}

Result<void> open(S state, A a) { return ask(state, OpenTrace{a[0]}); }
Result<void> show(S state, A a) { return ask(state, ShowTrace{a[0]}); }
Result<void> close(S state, A a) { return ask(state, CloseTrace{a[0]}); }
Result<void> attach(S state, A a) {
    const auto pid =
        integer_argument(a[0], 1, std::numeric_limits<std::int32_t>::max(), "the process");
    if (!pid) return tl::unexpected<Error>(pid.error());
    return ask(state, AttachProcess{static_cast<std::uint32_t>(*pid)});
}
Result<void> save_statistics(S state, A a) { return ask(state, SaveStatistics{a[0]}); }
Result<void> find(S state, A a) { return ask(state, FindSpans{a.empty() ? std::string() : a[0]}); }

Result<TimeRange> time_range(A a) {
    const auto begin = integer_argument(a[0], 0, kMostTime, "the begin"),
               end = integer_argument(a[1], 0, kMostTime, "the end");
    if (!begin || !end) return tl::unexpected<Error>(begin ? end.error() : begin.error());
    if (*begin > *end) return fail(ErrorKind::usage, "", "a stretch of time begins before it ends");
    return TimeRange{*begin, *end};
}
Result<void> show_time(S state, A a) {
    const auto range = time_range(a);
    if (!range) return tl::unexpected<Error>(range.error());
    ShowTime action{{*range, kNoTrack, 0}};
    if (a.size() == 3) return fail(ErrorKind::usage, "", "a span is BEGIN END TRACK ROW");
    if (a.size() == 4) {
        const auto track = integer_argument(a[2], 0, kNoTrack, "the track"),
                   row = integer_argument(a[3], 0, 255, "the row");
        if (!track || !row) return tl::unexpected<Error>(track ? row.error() : track.error());
        action.place.track = static_cast<std::uint32_t>(*track);
        action.place.row = static_cast<std::size_t>(*row);
    }
    return ask(state, action);
}
Result<void> select_time(S state, A a) {
    if (a.empty()) return ask(state, SelectTime{});
    if (a.size() == 1) return fail(ErrorKind::usage, "", "a stretch of time is BEGIN END");
    const auto range = time_range(a);
    if (!range) return tl::unexpected<Error>(range.error());
    return ask(state, SelectTime{*range});
}

}  // namespace

void add_trace_commands(std::vector<CommandRow>& rows) {
    const auto add = [&](CommandInfo info, Result<void> (*run)(S, A), std::size_t least,
                         std::size_t most) {
        rows.push_back({std::move(info), run, {}, least, most});
    };
    add({"trace.open", "Open a trace...", "File", "", "PATH",
         "Reads a Perfetto or Chrome trace (.pftrace, .json, gzipped or not) and shows it in the "
         "timeline."},
        open, 1, 1);
    add({"trace.attach", "Attach to a process...", "File", "", "PID",
         "Shows live what a process under the profiling service records."},
        attach, 1, 1);
    add({"trace.show", "Show a trace", "", "", "TRACE",
         "Which open trace the timeline shows, by name or number."},
        show, 1, 1);
    add({"trace.close", "Close a trace", "", "", "TRACE",
         "Closes an opened trace or lets go of a process; stops reading a file."},
        close, 1, 1);
    add({"statistics.save", "Save the statistics...", "File", "", "PATH",
         "Writes the table of the Statistics panel as CSV."},
        save_statistics, 1, 1);
    add({"trace.find", "Find in the trace", "View", "Ctrl+F", "[NAME]",
         "Lists the spans of a name with their distribution."},
        find, 0, 1);
    add({"timeline.show", "Show a moment", "", "", "BEGIN END [TRACK ROW]",
         "Shows this stretch of time (nanoseconds); with a track, selects its span that begins "
         "there."},
        show_time, 2, 4);
    add({"timeline.select", "Select a stretch of time", "", "", "[BEGIN END]",
         "What find, statistics, flame graph and compare look at; without arguments: everything."},
        select_time, 0, 2);
}

}  // namespace gs
