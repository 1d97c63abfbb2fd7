#include "profiler/analysis/range_projection.h"

#include <algorithm>
#include <limits>

namespace gs {
namespace {

constexpr std::size_t kMostKept = 500'000;  // ranges a level remembers

}  // namespace

std::size_t RangeProjection::follow(const TraceStore& store, std::int64_t until_ns,
                                    std::size_t most) {
    const TraceTrack& track = store.tracks()[track_];
    after_.resize(track.rows.size(), std::numeric_limits<std::int64_t>::min());
    struct Next {
        std::span<const TraceSpan> spans;
        std::size_t at = 0;
    };
    std::vector<Next> next;
    for (std::size_t row = 0; row < track.rows.size(); ++row) {
        const auto spans = track.rows[row].view();
        const auto first = std::ranges::upper_bound(spans, after_[row], {}, &TraceSpan::begin_ns);
        next.push_back({spans, static_cast<std::size_t>(first - spans.begin())});
    }
    std::size_t taken = 0;
    for (; taken < most; ++taken) {
        // Rows are merged by time, so that ranges grow at their ends.
        std::size_t best = next.size();
        for (std::size_t row = 0; row < next.size(); ++row)
            if (next[row].at < next[row].spans.size() &&
                next[row].spans[next[row].at].end_ns <= until_ns &&
                (best == next.size() ||
                 next[row].spans[next[row].at].begin_ns < next[best].spans[next[best].at].begin_ns))
                best = row;
        if (best == next.size()) break;
        const TraceSpan& work = next[best].spans[next[best].at++];
        after_[best] = work.begin_ns;
        take(store, best, work);
    }
    return taken;
}

void RangeProjection::take(const TraceStore& store, std::size_t row, const TraceSpan& work) {
    const FoundSpan range = range_of(store, track_, row, work);
    if (!range.span) return;
    std::size_t level = 0;
    for (std::size_t r = 0; r < range.row && level < kLevels; ++r)
        if (const TraceSpan* outer = store.tracks()[range.track].span_at(r, range.span->begin_ns))
            extend(level++, {outer, range.track, static_cast<std::uint32_t>(r)}, work,
                   range.inferred);
    if (level < kLevels)
        extend(level, {range.span, range.track, static_cast<std::uint32_t>(range.row)}, work,
               range.inferred);
}

void RangeProjection::extend(std::size_t level, const Found& range, const TraceSpan& work,
                             bool inferred) {
    if (levels_.size() <= level) levels_.resize(level + 1);
    SlidingArray<ProjectedRange>& row = levels_[level];
    if (!row.empty()) {
        ProjectedRange& last = row.back();
        if (last.host_ns == range.span->begin_ns && last.track == range.track &&
            last.row == range.row) {
            last.span.end_ns = std::max(last.span.end_ns, work.end_ns);
            ++last.works;
            last.inferred |= inferred;
            return;
        }
    }
    ProjectedRange made{.span = *range.span};
    made.span.begin_ns =
        row.empty() ? work.begin_ns : std::max(work.begin_ns, row.back().span.end_ns);
    made.span.end_ns = std::max(made.span.begin_ns, work.end_ns);
    made.host_ns = range.span->begin_ns;
    made.track = range.track;
    made.row = range.row;
    made.works = 1;
    made.inferred = inferred;
    row.push_back(made);
    row.keep_newest(kMostKept);
}

}  // namespace gs
