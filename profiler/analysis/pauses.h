// When the budget held a process's recording back (event.h, PauseEvent): what is missing then was
// not recorded, which does not mean that nothing happened. The base of every share of time: the
// breakdown, iterations, the metrics of `serve`.
#pragma once

#include <cstdint>
#include <limits>

#include "profiler/analysis/intervals.h"
#include "profiler/analysis/iterations.h"
#include "profiler/store/store.h"

namespace gs {

enum class Unrecorded : std::uint8_t {
    gpu,     ///< GPU work, CUDA calls and inner ranges
    ranges,  ///< outermost ranges; somewhat longer, because begun iterations are recorded
};
/// Those that end after `since_ns`: O(that many).
Intervals pauses_of(const TraceStore& store, std::uint32_t process, Unrecorded what,
                    std::int64_t since_ns = std::numeric_limits<std::int64_t>::min());

/// The same, and when records were lost: what begins there need not be what came next.
Intervals unknown_of(const TraceStore& store, std::uint32_t process, Unrecorded what,
                     std::int64_t since_ns);

/// What is missing on a track in a pause: of a thread's ranges the outermost and all inside.
Unrecorded unrecorded_on(const TraceTrack& track);

/// Leaves out iterations of which a part was not recorded: their times are right, what their time
/// went into is not known.
void keep_whole(const TraceStore& store, Iterations& iterations);

}  // namespace gs
