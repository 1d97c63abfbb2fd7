// TraceView: what the panels about one trace share: the selected stretch of time, the place to
// show, the name to look for, what the flame graph is of. Timeline, Find, Flame graph, Statistics
// and Compare read and set it; the workspace owns the one there is. Which trace they look at is
// Snapshot::shown().
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

/// What a flame graph is of.
struct FlameChoice {
    CallSide side = CallSide::cpu;
    std::uint32_t process = kAnyProcess;
    std::optional<std::uint32_t> thread{};  ///< by its number; of call stacks alone
};

struct TraceView {
    std::optional<TimeRange>
        selection;  ///< what the other panels look at; none: everything that is kept
    std::optional<TracePlace> jump;    ///< the timeline shows this next, and forgets it
    std::optional<std::string> find;   ///< Find looks for this next, and forgets it
    std::optional<FlameChoice> flame;  ///< the flame graph shows this next, and forgets it
};

}  // namespace gs
