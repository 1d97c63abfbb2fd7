// What measuring costs, measured: nanoseconds per Span against two reads of the clock it is made
// of. Called by `bench` and by tests/bench/span_bench.cpp; the target is a ratio of 2 or less
// (docs/profiling.md).
#pragma once

#include <cstddef>

namespace gs {

struct SpanOverhead {
    double span_ns = 0;              ///< one Span, recorded
    double timer_pair_ns = 0;        ///< two reads of the recorder's clock
    double disarmed_ns = 0;          ///< one Span while recording is off
    bool ticks_are_counter = false;  ///< else CLOCK_MONOTONIC is read
    bool recorded = false;           ///< false: there is no ring, span_ns says nothing
    double ratio() const { return timer_pair_ns > 0 ? span_ns / timer_pair_ns : 0; }
};

/// Best of several rounds of `spans` spans each; takes some 20 ms. They go to a lane that no
/// reader sees; for a moment the whole process records nothing.
SpanOverhead measure_span_overhead(std::size_t spans = 100'000);

}  // namespace gs
