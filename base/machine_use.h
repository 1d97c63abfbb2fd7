// How a loop of ours uses the machine, as counters in the trace, beside what the machine gave it
// (base/record/machine_counters.h): how much of the time it is in parallel loops, how even these
// are, how wide its vectors are. The insights on CPUs are made of them. Called by the trainer and
// the bench after an iteration; written once a second.
#pragma once

#include <cstdint>

namespace gs {

/// Names of the counters, as traces bear them.
namespace machine_counter {
inline constexpr const char* kThreads = "machine: threads of loops";  ///< thread_count()
inline constexpr const char* kInLoops = "machine: in parallel loops %";
/// Of the time of parallel loops: the share that their threads had work.
inline constexpr const char* kWorkersBusy = "machine: workers busy in loops %";
inline constexpr const char* kVectorBits = "machine: vector bits";
inline constexpr const char* kVectorBitsHere = "machine: vector bits of the CPU";
}  // namespace machine_counter

/// Totals over every parallel loop since the program began, ns: how long they lasted, and how long
/// their tasks did, over all threads. In base/parallel.cpp.
struct ParallelTime {
    std::uint64_t loops = 0, tasks = 0;
};
ParallelTime parallel_time();

/// What vector code runs on from now on; set by the rasterizer.
void tell_vector_bits(int bits);
/// The widest registers of floats that this CPU computes with; 0: not known.
int widest_vector_bits();

void record_machine_use() noexcept;

}  // namespace gs
