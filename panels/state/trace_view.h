// TraceView: shared by the panels about one trace: the selected time range, the place to show, the
// name to find, the flame graph's subject. Timeline, Find, Flame graph, Statistics and Compare read
// and set it; the workspace owns the only one. Snapshot::shown() is the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiler/analysis/call_tree.h"
#include "profiler/analysis/time_range.h"
#include "profiler/store/event.h"

namespace gs {

/// A place in the trace. With a track, the span of its row that begins there is selected.
struct TracePlace {
    TimeRange range;
    std::uint32_t track = kNoTrack;
    std::size_t row = 0;
};

/// The subject of a flame graph.
struct FlameChoice {
    CallSide side = CallSide::cpu;
    std::uint32_t process = kAnyProcess;
    std::optional<std::uint32_t> thread{};  ///< by number; only for call stacks
};

struct TraceView {
    std::optional<TimeRange> selection;  ///< range for the other panels; none: the whole trace
    std::optional<TracePlace> jump;      ///< the timeline shows this next, then clears it
    std::optional<std::string> find;     ///< Find searches this next, then clears it
    std::optional<FlameChoice> flame;    ///< the flame graph shows this next, then clears it
};

}  // namespace gs
