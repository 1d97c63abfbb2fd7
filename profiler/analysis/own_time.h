// What of an iteration is a rank's own time, and what it spent communicating with the other ranks
// or waiting for them. Ranks that train together take equally long; only their own times say which
// of them is slow. The base of R23 and of two metrics of `serve`.
#pragma once

#include <vector>

#include "profiler/analysis/intervals.h"
#include "profiler/analysis/iterations.h"

namespace gs {

struct OwnTime {
    double wall_ms = 0;
    /// In which the iterations' thread was in a collective, or waited while another thread was;
    /// and in which the GPU ran nothing but collectives.
    double exposed_ms = 0;
    double own_ms() const { return wall_ms - exposed_ms; }
};
struct OwnTimes {
    /// False: no communication was seen. Then own times are not known (they equal the walls).
    bool communicates = false;
    bool on_gpu = false;         ///< it was seen as kernels
    std::vector<OwnTime> items;  ///< of every iteration, in order
};

/// Collectives within iterations, and the part that nothing hides.
struct Communication {
    bool on_gpu = false;
    Intervals all, exposed;
};
/// From ranges of kind "communication" (assets/range_kinds) that do not only enqueue, or kernels of
/// NCCL and its like where there are any. O(spans in the iterations).
Communication communication_in(const TraceStore& store, const Iterations& iterations);
/// From the same.
OwnTimes own_times(const TraceStore& store, const Iterations& iterations);

}  // namespace gs
