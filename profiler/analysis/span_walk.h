// SpanWalk: visits the spans of a trace, each once, callers before what they call, in pieces: a
// search through millions of spans continues from frame to frame and the window never waits for it.
// The store may grow between two pieces. Find, Statistics, Flame graph and the measure of the
// timeline are made of it. Free of ImGui.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "profiler/analysis/time_range.h"
#include "profiler/store/store.h"

namespace gs {

/// Which tracks a search looks at.
struct TrackChoice {
    bool ranges = true, calls = true,
         gpu = true;  ///< of host threads; of the CUDA API (and overhead); of GPU streams
    std::uint32_t process = kAnyProcess;
    bool takes(const TraceTrack& track) const;
};

/// Rows of these tracks hold what runs inside the row above; rows of the others are only where
/// there was space.
bool rows_nest(const TraceTrack& track);

/// A span on the way from the outermost to the one that is visited.
struct WalkedSpan {
    TraceSpan span;
    std::uint32_t track = kNoTrack;
    std::uint32_t row = 0;
    std::int64_t inside_ns = 0;  ///< of its time: within the range of the walk
    std::int64_t child_ns = 0;  ///< of that: in the spans directly inside; complete when it is left
    std::uint64_t value = 0;    ///< the visitor's own
    const TraceSpan* kept = nullptr;  ///< the store's own, while it is entered only
    std::int64_t self_ns() const { return inside_ns > child_ns ? inside_ns - child_ns : 0; }
};

class SpanWalk {
  public:
    SpanWalk() = default;
    /// Of the tracks there are now, the chosen ones.
    SpanWalk(const TraceStore& store, TimeRange range, const TrackChoice& choice);

    bool done() const { return next_track_ >= tracks_.size() && open_.empty(); }
    /// Share of the work that is done, 0..1.
    double share() const;

    /// Visits about `most` spans. `enter(span, parent)` comes before what is inside, parent is null
    /// for outermost spans; `leave(span, parent)` after it.
    template <class Enter, class Leave>
    void advance(const TraceStore& store, std::size_t most, Enter&& enter, Leave&& leave) {
        seek(store);
        for (std::size_t n = 0; n < most && !done(); ++n) step(store, enter, leave);
    }

  private:
    struct Cursor {
        std::size_t at = 0;  ///< the next of the row
        /// What begins before was visited, and `visited` of those that begin then: where a clock's
        /// tick is long, spans without length follow each other at one time.
        std::int64_t from_ns = 0;
        std::size_t visited = 0;
        void pass(const TraceSpan& span) {
            visited = span.begin_ns == from_ns ? visited + 1 : 1;
            from_ns = span.begin_ns;
            ++at;
        }
    };
    void begin_track(const TraceStore& store);
    void seek(const TraceStore& store);
    /// The next span of `row` that begins before `end_ns`; null when there is none.
    const TraceSpan* next_of(const TraceTrack& track, std::size_t row, std::int64_t end_ns) const;
    /// The next span of `row`, or of the rows below it where that comes first: what it lay inside
    /// was lost, or is still open. Sets `row` to its row.
    const TraceSpan* next_from(const TraceTrack& track, std::size_t& row,
                               std::int64_t end_ns) const;
    std::int64_t inside(const TraceSpan& span) const {
        return std::max<std::int64_t>(
            std::min(span.end_ns, range_.end_ns) - std::max(span.begin_ns, range_.begin_ns), 0);
    }

    template <class Enter, class Leave>
    void step(const TraceStore& store, Enter&& enter, Leave&& leave) {
        const TraceTrack& track = store.tracks()[tracks_[next_track_]];
        const bool outermost = open_.empty();
        std::size_t row = outermost ? first_row_ : open_.back().row + std::size_t{1};
        const std::int64_t end =
            outermost ? range_.end_ns : std::min(open_.back().span.end_ns, range_.end_ns);
        const TraceSpan* span = nests_      ? next_from(track, row, end)
                                : outermost ? next_of(track, row, end)
                                            : nullptr;
        if (span) {
            cursors_[row].pass(*span);
            WalkedSpan walked{
                *span, tracks_[next_track_], static_cast<std::uint32_t>(row), inside(*span), 0, 0,
                span};
            enter(walked, outermost ? nullptr : &open_.back());
            walked.kept = nullptr;
            open_.push_back(walked);
        } else if (!outermost) {
            WalkedSpan walked = open_.back();
            open_.pop_back();
            if (!open_.empty()) open_.back().child_ns += walked.inside_ns;
            leave(walked, open_.empty() ? nullptr : &open_.back());
        } else if (!nests_ && first_row_ + 1 < cursors_.size()) {
            ++first_row_;
        } else {
            ++next_track_;
            begin_track(store);
        }
    }

    TimeRange range_ = kAllTime;
    std::vector<std::uint32_t> tracks_;
    std::size_t next_track_ = 0, first_row_ = 0;
    bool nests_ = true;
    std::vector<Cursor> cursors_;  // of the track's rows
    std::vector<WalkedSpan> open_;
    double steps_done_ = 0, steps_all_ = 0;  // spans of the tracks behind, of all
};

/// Continues `walk` for about `budget_ms`; true when it is done.
template <class Enter, class Leave>
bool walk_for(SpanWalk& walk, const TraceStore& store, double budget_ms, Enter&& enter,
              Leave&& leave) {
    using Clock = std::chrono::steady_clock;
    constexpr std::size_t kPiece = 4096;  // spans between two looks at the clock
    const auto until = Clock::now() + std::chrono::duration<double, std::milli>(budget_ms);
    do {
        walk.advance(store, kPiece, enter, leave);
    } while (!walk.done() && Clock::now() < until);
    return walk.done();
}

}  // namespace gs
