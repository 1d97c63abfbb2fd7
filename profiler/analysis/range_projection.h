// RangeProjection: the ranges of host threads as a GPU stream saw them: from the first to the last
// piece of work that was launched inside a range. Follows a stream as it grows, a little every
// frame. Drawn by the timeline above the stream's own rows, and written into Perfetto traces.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/store/store.h"

namespace gs {

/// A range on the GPU's time. Those of a level do not overlap and are in order.
struct ProjectedRange {
    TraceSpan span;            ///< times of the GPU, the rest of the range
    std::int64_t host_ns = 0;  ///< when the range began on its thread
    std::uint32_t track = 0;   ///< of the range
    std::uint32_t row = 0;
    std::uint32_t works = 0;  ///< pieces of work in it
    bool inferred = false;    ///< of some the range is a guess by time
};

class RangeProjection {
  public:
    static constexpr std::size_t kLevels = 4;  ///< outermost ranges; what is deeper is not shown

    explicit RangeProjection(std::uint32_t track) : track_(track) {}
    /// Takes at most `most` pieces of work that end before `until_ns`; how many it took.
    std::size_t follow(const TraceStore& store, std::int64_t until_ns, std::size_t most);
    /// [level][range], empty levels at the end left out.
    const std::vector<SlidingArray<ProjectedRange>>& levels() const { return levels_; }
    std::uint32_t track() const { return track_; }

  private:
    struct Found {
        const TraceSpan* span = nullptr;
        std::uint32_t track = 0, row = 0;
    };
    void take(const TraceStore& store, std::size_t row, const TraceSpan& work);
    void extend(std::size_t level, const Found& range, const TraceSpan& work, bool inferred);

    std::uint32_t track_ = 0;
    std::vector<std::int64_t> after_;  // by row: begin of the newest work taken
    std::vector<SlidingArray<ProjectedRange>> levels_;
};

}  // namespace gs
