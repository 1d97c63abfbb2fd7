// Watch: what is new in a store since it was last looked at, per process: iterations that have
// ended, with what their time went into, and the stretch of time in between. Metrics and triggers
// are made of it. Used by Server.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiler/analysis/breakdown.h"
#include "profiler/analysis/iterations.h"
#include "profiler/analysis/own_time.h"

namespace gs::serve {

struct News {
    std::uint32_t process = 0;  ///< index into TraceStore::processes()
    std::uint64_t source =
        0;                  ///< TraceProcess::source: stays the same as long as the process lives
    Iterations iterations;  ///< the new ones
    std::vector<Breakdown> parts;  ///< of each
    OwnTimes own;                  ///< the same, without waiting for other ranks
    Breakdown stretch;             ///< of all the time since the last look
    bool gpu_incomplete = false;   ///< not all that the GPU did in it was waited for
};

/// Records reach a store late: what is younger than this is left for the next look.
inline constexpr std::int64_t kLagNs = 1'000'000'000;
/// Those of CUPTI come when all that was launched with them has ended, and the process says how far
/// they have come (ServiceStatus::gpu_complete_ns). They are waited for no longer than this; then
/// the figures are incomplete, which is said.
inline constexpr std::int64_t kPatienceNs = 60'000'000'000;

/// Until when nothing more is to be expected of `process`. Times are of CLOCK_MONOTONIC.
std::int64_t settled_until(const TraceProcess& process, std::int64_t now_ns);
/// GPU work of `process` that began before `time_ns` may be missing.
bool misses_gpu_work(const TraceProcess& process, std::int64_t time_ns);

class Watch {
  public:
    /// A process that has ended is looked at for so long: until all that it recorded was seen.
    static constexpr std::int64_t kAfterEndNs = 10'000'000'000;

    /// One entry per process that the store holds and that is there, or was just now; the node's
    /// GPUs are none. `now_ns` is of CLOCK_MONOTONIC.
    std::vector<News> look(const TraceStore& store, std::int64_t now_ns);

  private:
    struct Seen {
        IterationFollower iterations;
        std::int64_t stretch_until = 0;
        bool begun = false;  ///< there is a record of it
    };
    std::map<std::uint64_t, Seen> seen_;  // by source
    std::int64_t looked_until_ = 0;       // the last time; 0: never
};

}  // namespace gs::serve
