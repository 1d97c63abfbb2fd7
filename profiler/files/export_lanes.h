// Spans of a track as lanes: in each lane spans nest, as the formats want it, and every span keeps
// its length. What overlaps a span without lying inside is in another lane, together with what lies
// inside it. Ranges that never ended are among the spans, open to the end of their process. Used
// by the exports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "profiler/store/store.h"

namespace gs {

/// A range that has not ended, as a span to the end of its process.
struct OpenRange {
    TraceSpan span;
    std::uint8_t depth = 0;
};
/// Those of all tracks.
class OpenRanges {
  public:
    explicit OpenRanges(const TraceStore& store);
    /// Outer ones first.
    std::span<const OpenRange> of(std::size_t track) const {
        return track < by_track_.size() ? std::span<const OpenRange>(by_track_[track])
                                        : std::span<const OpenRange>();
    }
    std::size_t count() const { return count_; }

  private:
    std::vector<std::vector<OpenRange>> by_track_;
    std::size_t count_ = 0;
};

/// Spans in order of time that do not overlap: a row of a track, or an open range.
struct LaneRow {
    std::span<const TraceSpan> spans;
    std::size_t row = 0;
    bool open = false;
};
/// The rows of a track that nest, open ranges first. Those of a track whose rows do not (ranges
/// that overlap anyhow, work of a GPU stream that was described) are groups of their own.
std::vector<std::vector<LaneRow>> lane_groups(const TraceStore& store, const OpenRanges& open,
                                              std::size_t track);

/// The stretch of time that is written; spans that touch it are.
struct LaneTime {
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
};

/// Calls begin(span, row) and end(span) of one lane, in order of time and nested. Returns how many
/// lanes there are: to be called for each of them.
template <class Begin, class End>
std::size_t walk_lane(std::span<const LaneRow> rows, std::size_t lane, const LaneTime& time,
                      Begin&& begin, End&& end) {
    struct Cursor {
        const TraceSpan *next, *stop;
    };
    std::vector<Cursor> cursors;
    for (const LaneRow& row : rows) {
        const TraceSpan *first = row.spans.data(), *const stop = first + row.spans.size();
        first = std::lower_bound(first, stop, time.begin_ns,
                                 [](const TraceSpan& s, std::int64_t t) { return s.end_ns < t; });
        cursors.push_back({first, stop});
    }
    std::vector<std::vector<const TraceSpan*>> open(1);
    const auto leave = [&](std::size_t k, std::int64_t now) {
        for (; !open[k].empty() && open[k].back()->end_ns <= now; open[k].pop_back())
            if (k == lane) end(*open[k].back());
    };
    for (;;) {
        Cursor* earliest = nullptr;
        for (Cursor& row : cursors)
            if (row.next != row.stop &&
                (earliest == nullptr || row.next->begin_ns < earliest->next->begin_ns))
                earliest = &row;
        if (earliest == nullptr || earliest->next->begin_ns > time.end_ns) break;
        const TraceSpan& span = *earliest->next++;
        const std::size_t k =
            [&] {  // inside the innermost that surrounds it, else where nothing is
                std::size_t inside = open.size(), empty = open.size();
                for (std::size_t l = 0; l < open.size(); ++l) {
                    leave(l, span.begin_ns);
                    if (open[l].empty()) {
                        empty = std::min(empty, l);
                    } else if (open[l].back()->end_ns >= span.end_ns) {
                        if (inside == open.size() ||
                            open[inside].back()->begin_ns < open[l].back()->begin_ns)
                            inside = l;
                    }
                }
                return inside < open.size() ? inside : empty;
            }();
        if (k == open.size()) open.emplace_back();
        open[k].push_back(&span);
        if (k == lane) begin(span, rows[static_cast<std::size_t>(earliest - cursors.data())]);
    }
    if (lane < open.size()) leave(lane, std::numeric_limits<std::int64_t>::max());
    return open.size();
}

/// How many lanes the rows need.
std::size_t lane_count(std::span<const LaneRow> rows, const LaneTime& time = {});

/// "main", "main (overlapping 2)".
std::string lane_name(const std::string& track, std::size_t lane);

}  // namespace gs
