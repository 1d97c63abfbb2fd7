#include "profiler/analysis/span_walk.h"

#include <algorithm>

namespace gs {
namespace {

std::span<const TraceSpan> row_of(const TraceTrack& track, std::size_t row) {
    return track.rows[row].view();
}

std::size_t first_beginning_at(std::span<const TraceSpan> spans, std::int64_t t) {
    return static_cast<std::size_t>(
        std::lower_bound(spans.begin(), spans.end(), t,
                         [](const TraceSpan& s, std::int64_t time) { return s.begin_ns < time; }) -
        spans.begin());
}

double spans_of(const TraceTrack& track) {
    double count = 0;
    for (const auto& row : track.rows) count += static_cast<double>(row.size());
    return count;
}

}  // namespace

bool TrackChoice::takes(const TraceTrack& track) const {
    if (process != kAnyProcess && track.process != process) return false;
    switch (track.kind) {
        case TrackKind::gpu_stream:
            return gpu;
        case TrackKind::api:
        case TrackKind::overhead:
            return calls;
        case TrackKind::thread:
        case TrackKind::overlapping:
            break;
    }
    return ranges;
}

bool rows_nest(const TraceTrack& track) {
    return track.kind != TrackKind::overlapping && !track.described();
}

SpanWalk::SpanWalk(const TraceStore& store, TimeRange range, const TrackChoice& choice)
    : range_(range) {
    for (std::uint32_t i = 0; i < store.tracks().size(); ++i)
        if (choice.takes(store.tracks()[i])) {
            tracks_.push_back(i);
            steps_all_ += spans_of(store.tracks()[i]);
        }
    begin_track(store);
}

void SpanWalk::begin_track(const TraceStore& store) {
    cursors_.clear();
    first_row_ = 0;
    if (next_track_ >= tracks_.size()) return;
    if (next_track_ > 0) steps_done_ += spans_of(store.tracks()[tracks_[next_track_ - 1]]);
    const TraceTrack& track = store.tracks()[tracks_[next_track_]];
    nests_ = rows_nest(track);
    for (std::size_t row = 0; row < track.rows.size(); ++row) {
        const auto spans = row_of(track, row);
        const std::size_t first = first_ending_after(spans, range_.begin_ns);
        const std::int64_t from = first < spans.size() ? spans[first].begin_ns : range_.end_ns;
        const std::size_t same = std::min(first_beginning_at(spans, from), first);
        cursors_.push_back({first, from, first - same});
    }
    if (cursors_.empty()) cursors_.push_back({0, range_.end_ns, 0});
}

/// Spans may have come or gone since the last piece: the cursors are found again by time.
void SpanWalk::seek(const TraceStore& store) {
    if (next_track_ >= tracks_.size()) return;
    const TraceTrack& track = store.tracks()[tracks_[next_track_]];
    for (std::size_t row = 0; row < cursors_.size() && row < track.rows.size(); ++row) {
        Cursor& cursor = cursors_[row];
        const auto spans = row_of(track, row);
        cursor.at = first_beginning_at(spans, cursor.from_ns);
        for (std::size_t n = 0; n < cursor.visited && cursor.at < spans.size() &&
                                spans[cursor.at].begin_ns == cursor.from_ns;
             ++n)
            ++cursor.at;
    }
}

const TraceSpan* SpanWalk::next_of(const TraceTrack& track, std::size_t row,
                                   std::int64_t end_ns) const {
    if (row >= cursors_.size() || row >= track.rows.size()) return nullptr;
    const auto spans = row_of(track, row);
    const std::size_t at = cursors_[row].at;
    return at < spans.size() && spans[at].begin_ns < end_ns ? &spans[at] : nullptr;
}

const TraceSpan* SpanWalk::next_from(const TraceTrack& track, std::size_t& row,
                                     std::int64_t end_ns) const {
    const TraceSpan* first = next_of(track, row, end_ns);
    for (std::size_t deeper = row + 1; deeper < cursors_.size(); ++deeper) {
        const TraceSpan* span = next_of(track, deeper, end_ns);
        if (!span || (first && span->end_ns > first->begin_ns)) continue;
        first = span;
        row = deeper;
    }
    return first;
}

double SpanWalk::share() const {
    if (done() || steps_all_ <= 0) return 1;
    double here = 0;
    for (const Cursor& cursor : cursors_) here += static_cast<double>(cursor.at);
    return std::min((steps_done_ + here) / steps_all_, 1.0);
}

}  // namespace gs
