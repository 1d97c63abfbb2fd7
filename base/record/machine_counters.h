// MachineCounters: what the machine gave this process, as counters in its ring, so that every trace
// of it says how far its times can be trusted: how long its threads waited for a processor, how
// often they were pushed off one, how many processors it used, the load and the clock. From /proc,
// for a few microseconds a thread. Written by the endpoint's thread, and by gausscope's own loops
// (base/machine_use.h); profiler/analysis/machine_use.h reads them.
#pragma once

namespace gs {

/// Names of the counters, as traces bear them.
namespace machine_counter {
/// Of the time in which the process's threads could have run: what they spent waiting for a CPU.
inline constexpr const char* kWaited = "machine: threads waited %";
/// Of all time: what the main thread spent waiting for a CPU, and the thread that waited most.
inline constexpr const char* kMainWaited = "machine: main thread waited, of all time %";
inline constexpr const char* kMostWaited = "machine: longest wait of a thread, of all time %";
inline constexpr const char* kSwitches = "machine: involuntary switches /s";
inline constexpr const char* kCpusUsed = "machine: CPUs used";  ///< by this process
inline constexpr const char* kCpus = "machine: CPUs";           ///< that it may use
inline constexpr const char* kLoad = "machine: load average";   ///< of a minute, of all processes
inline constexpr const char* kClock = "machine: CPU clock GHz";
inline constexpr const char* kResident = "machine: resident memory [MiB]";  ///< of this process
}  // namespace machine_counter

/// Writes them when a second has passed since the last time (less in the first second), in
/// whichever thread calls; true when it did. Otherwise costs a read of the clock. What the system
/// does not tell is left out. Of more than 256 threads the rest is left out.
bool write_machine_counters() noexcept;

/// Totals of the counters since the first look at the machine, for callers that keep no trace.
struct MachineTotals {
    double seconds = 0;
    double ran = 0, waited = 0;      ///< of all threads, seconds
    double switches = 0;             ///< involuntary
    double load = 0, clock_ghz = 0;  ///< at the last look; 0: unknown
};
MachineTotals machine_totals() noexcept;

/// Call it in the child of a fork.
void forget_machine_counters_in_child() noexcept;

}  // namespace gs
