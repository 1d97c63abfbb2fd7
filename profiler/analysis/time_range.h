// TimeRange: a stretch of a trace. Every analysis takes one.
#pragma once

#include <cstdint>
#include <limits>

namespace gs {

/// A stretch of time, nanoseconds of CLOCK_MONOTONIC.
struct TimeRange {
    std::int64_t begin_ns = 0, end_ns = 0;
    double length_ns() const { return static_cast<double>(end_ns - begin_ns); }
    bool holds(std::int64_t t) const { return begin_ns <= t && t <= end_ns; }
    bool operator==(const TimeRange&) const = default;
};
inline constexpr TimeRange kAllTime{std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max()};

}  // namespace gs
