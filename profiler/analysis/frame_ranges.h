// What frames consist of beside their stages: the ranges inside them whose names stand for no
// stage, as a foreign program's do. Used by the Stages panel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/store/store.h"

namespace gs {

struct FrameRange {
    std::uint32_t name = 0;
    StageStats stats;  ///< self_mean_ms is NaN
};

/// Of the newest `last_n` frames of a scope that are neither warm-up nor incomplete: the longest
/// total first.
std::vector<FrameRange> ranges_in_frames(const TraceStore& store, StatScope scope,
                                         std::size_t last_n);

}  // namespace gs
