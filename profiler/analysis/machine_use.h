// What the machine gave a process while it ran its iterations, and what the process made of it:
// means of the counters that base/record/machine_counters.h and base/machine_use.h write. Times of
// CPU work hold only as far as these are quiet: comparisons and insights ask here first.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "profiler/store/store.h"

namespace gs {

/// When a thread waited for a CPU for more of the time, the machine was not quiet.
inline constexpr double kQuiet = 0.05;

/// Means over a stretch; NaN: not recorded. Shares are 0..1.
struct MachineUse {
    static constexpr double kNotTold = std::numeric_limits<double>::quiet_NaN();
    double waited = kNotTold;  ///< of the time its threads could have run: waiting for a CPU
    /// Of all time: what the iterations' thread waited for a CPU. If that is another than the main
    /// thread, or shares its work with others, the longest that any thread waited. Recordings of
    /// before these counters have `waited`, which is more.
    double held = kNotTold;
    double switches = kNotTold;                    ///< involuntary, per second
    double cpus_used = kNotTold, cpus = kNotTold;  ///< by the process; that it may use
    double load = kNotTold, clock_ghz = kNotTold;
    double threads = kNotTold;       ///< of its parallel loops
    double in_loops = kNotTold;      ///< of the time
    double workers_busy = kNotTold;  ///< of the time that loops gave their threads
    double vector_bits = kNotTold, vector_bits_here = kNotTold;
    /// The share of a time that waiting may explain: 0 on a quiet machine, and where it was not
    /// recorded.
    double doubt() const { return held > kQuiet ? held : 0; }
};
/// `track`: of the iterations.
MachineUse machine_use(const TraceStore& store, std::uint32_t process, std::int64_t begin_ns,
                       std::int64_t end_ns, std::uint32_t track = kNoTrack);

/// "threads waited 34 % of the time for a CPU, preempted 120 times a second; load 3.1
/// on 2 CPUs"; empty where it was not recorded.
std::string machine_text(const MachineUse& use);
/// {"threads_waited": 0.34, ...}; what was not recorded is null.
nlohmann::ordered_json machine_json(const MachineUse& use);

}  // namespace gs
