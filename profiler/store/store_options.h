// TraceStoreOptions: how much a TraceStore keeps. Each of its parts takes the limits that concern
// it.
#pragma once

#include <cstddef>

namespace gs {

/// That a span takes in the store on average: between a range's 32 and a kernel's 144.
inline constexpr std::size_t kBytesPerSpan = 96;

struct TraceStoreOptions {
    std::size_t max_spans = 2'000'000;  ///< 32 bytes each; the oldest go first
    std::size_t max_frames = 8192;      ///< history length, per scope
    std::size_t max_calls = 4096;       ///< remembered durations, per stage
    std::size_t max_points = 65536;     ///< per counter
    std::size_t warm_up = 3;            ///< first frames per scope that statistics leave out
};

}  // namespace gs
