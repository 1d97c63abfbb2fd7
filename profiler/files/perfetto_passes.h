// Arrows of a Perfetto trace from forward ranges to their backward passes, and the numbers by which
// arrows are known. Used by the export.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "profiler/files/export_perfetto.h"
#include "profiler/store/store.h"

namespace gs::perfetto {

/// The number of the arrow that begins at a span, known by its track, row and begin.
std::uint64_t flow_id(std::uint64_t track, std::size_t row, std::int64_t begin_ns);

/// Of the spans that are written: every backward range has an arrow from its forward range.
class PassArrows {
  public:
    PassArrows(const TraceStore& store, const PerfettoOptions& options);
    /// The arrows that begin at this span of a thread; valid as long as this.
    std::span<const std::uint64_t> from(std::uint64_t flow) const;
    /// The one that ends there, 0: none.
    std::uint64_t to(std::uint64_t flow) const;

  private:
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> from_;  // by flow_id
    std::unordered_set<std::uint64_t> ends_;
};

}  // namespace gs::perfetto
