// IterationRows: on which row of which thread a process's iterations lie. Several rows may bear
// names of iteration_name.h (steps within an iteration, another thread's, a range around the whole
// loop); rather() says which is the loop's own. The FrameBook asks for every range as it ends, the
// analyses for all that is kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profiler/store/name_book.h"
#include "profiler/store/timeline.h"

namespace gs {

/// Spans of one rank on one row; on all rows of a track whose ranges may overlap.
struct IterationRow {
    std::uint32_t track = kNoTrack;
    std::size_t row = 0;
    int rank = 0;       ///< NameBook::iteration_rank()
    bool nests = true;  ///< false: ranges that may overlap
    bool recurs = false;
    std::uint64_t count = 0;    ///< of all that ever came
    std::int64_t total_ns = 0;  ///< the same
    /// Enough of them came: no other loop needs to be looked for.
    bool is_sure() const { return count >= 4; }
};
/// Above 0: rather `a` than `b`; 0: as much, of two threads. What recurs goes first (a range around
/// the whole loop may bear the same name), then the better name, then threads before ranges that
/// may overlap, then the outer row of a thread.
int rather(const IterationRow& a, const IterationRow& b);
/// The number of an iteration: its payload, or a number in its name.
std::optional<std::uint64_t> iteration_number(const NameBook& names, const TraceSpan& span);

/// Of one process.
class IterationRows {
  public:
    /// A range that was placed on a thread or among those that may overlap. True: it is an
    /// iteration, as far as the rows are known by now. Those that may overlap and pictures never
    /// are: nothing lies inside the former, the latter are frames of their own.
    bool take(const TraceTrack& on, std::uint32_t track, std::size_t row, int rank,
              std::int64_t length_ns);
    std::span<const IterationRow> all() const { return rows_; }
    /// No loop is known by its name, or none of its ranges came for several of its turns: it may
    /// have been a warm-up.
    bool needs_loop() const {
        constexpr std::uint64_t kLeast = 16, kTurns = 4;
        return !any_sure_ || ranges_ - last_ > std::max(kLeast, kTurns * last_ / named_);
    }
    void renumber(const Renumbering& to);

  private:
    std::vector<IterationRow> rows_;
    bool any_sure_ = false;
    std::uint64_t ranges_ = 0, named_ = 0;  // that came; with names of iterations
    std::uint64_t last_ = 0;                // of ranges_, the newest with such a name
};

}  // namespace gs
