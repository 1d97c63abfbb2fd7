// TraceStoreOptions: how much a TraceStore keeps. Each of its parts takes the limits that concern
// it.
#pragma once

#include <cstddef>

namespace gs {

struct TraceStoreOptions {
    std::size_t max_spans = 2'000'000;  ///< 32 bytes each; the oldest go first
    /// Of spans with what lies beside them, counters, waits and memory events: the oldest go first,
    /// when these and the tracks, names, processes and launches that are known need more. 0: any.
    std::size_t max_bytes = 0;
    std::size_t max_frames = 8192;   ///< history length, per scope
    std::size_t max_calls = 4096;    ///< remembered durations, per stage
    std::size_t max_points = 65536;  ///< per counter
    std::size_t warm_up = 3;         ///< first frames per scope that statistics leave out
};

/// Keeps all that comes: of a file, which ends.
inline TraceStoreOptions whole_trace_options() {
    constexpr std::size_t kAll = ~std::size_t{0};
    return {.max_spans = kAll, .max_calls = kAll, .max_points = kAll};
}

}  // namespace gs
