// A thread's samples as something to draw: boxes where each is wide enough, else columns of how
// much of the time the thread was on a CPU and how much it waited. Used by the timeline.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/store/sample_book.h"

namespace gs {

/// The time before sample number `index` that it stands for; it ends with the sample and begins
/// where the one before it ended at the earliest.
struct SampleBox {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t index = 0;
};
/// Samples too close to be drawn separately.
struct SampleColumn {
    std::int64_t begin_ns = 0, end_ns = 0;
    float on_cpu = 0, blocked = 0;  ///< shares of its time, together 1 at most
    std::uint32_t first = 0;        ///< of the samples taken in it
    std::uint32_t count = 0;
};

/// The samples, in order of time, that stand for a part of [t0, t1]: [first, last).
struct SampleRange {
    std::size_t first = 0, last = 0;
};
SampleRange samples_within(std::span<const StackSample> samples, std::int64_t t0, std::int64_t t1);

std::vector<SampleBox> boxes_of(std::span<const StackSample> samples, SampleRange range);

/// Columns of `quantum` nanoseconds, from multiples of it, of which any sample stands for a part.
/// Of very many samples some stand for their neighbours: O(10,000 + columns).
std::vector<SampleColumn> columns_of(std::span<const StackSample> samples, SampleRange range,
                                     std::int64_t quantum);

}  // namespace gs
