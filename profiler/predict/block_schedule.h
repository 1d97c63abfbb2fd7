// When the last thread block ends: blocks of known work on multiprocessors that hold a few at a
// time, each taking the next as one leaves. The tail of blending, from the real tiles instead of a
// guess. Used by gpu_model.cpp.
#pragma once

#include <span>

namespace gs {

struct BlockPlaces {
    int multiprocessors = 1;
    int resident = 1;  ///< blocks that one holds at once
    /// How fast one block goes that has the multiprocessor to itself, as a share of what it does
    /// when full: k blocks do min(1, k * alone) of that, shared evenly.
    double alone = 1;
};

/// Time until the last block has ended, where a full multiprocessor does one unit of work in one
/// unit of time. Blocks start in the order given, each where a place comes free first, as the
/// hardware hands them out; give the longest first. 0 without work. n log n.
double makespan(std::span<const double> work, const BlockPlaces& places);

}  // namespace gs
