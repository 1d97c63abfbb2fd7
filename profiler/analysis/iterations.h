// Which stretches of a process's time are its iterations, whatever the program calls them. The base
// of the insights, of comparing two traces, of the iteration bars and of the metrics of `serve`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/store/store.h"

namespace gs {

struct Iteration {
    std::uint64_t number = 0;  ///< the range's payload, a number in its name, or counted from 0
    std::int64_t begin_ns = 0, end_ns = 0;
    double milliseconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-6; }
};
struct Iterations {
    std::uint32_t process = 0;
    std::uint32_t track =
        kNoTrack;      ///< the thread they were found on; kNoTrack: found from the GPU's work
    std::string name;  ///< of the range ("iteration"), or of the kernel that comes once in each
    std::string
        how;  ///< for the user: "ranges called 'iteration'", "inferred: kernel 'adam' recurs"
    bool inferred = false;
    std::vector<Iteration> items;  ///< in order, without overlap
};

/// The iterations of one process; empty items when nothing recurs. Tried in this order: ranges
/// named iteration, step, train_step, "ProfilerStep#N", "iteration[a,b)" and the like; the
/// top-level range of the busiest thread that recurs most regularly; the rarest kernel that recurs
/// regularly.
Iterations find_iterations(const TraceStore& store, std::uint32_t process);

}  // namespace gs
