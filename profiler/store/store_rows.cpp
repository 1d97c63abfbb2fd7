// How spans get into rows. Ranges of threads come in order and know their depth: place_span()
// appends. What CUPTI tells, and ranges that may overlap, come in any order: they are staged per
// track while a batch is read, then settle() puts them, in order of time, on the first row that has
// room, between those that are there.
#include <algorithm>
#include <limits>
#include <optional>

#include "profiler/store/store.h"

namespace gs {
namespace {

constexpr std::size_t kMaxRows = 64;

/// Before which span of `row` there is room for [begin, end]; none: it overlaps one of them.
std::optional<std::size_t> room_in(std::span<const TraceSpan> row, std::int64_t begin,
                                   std::int64_t end) {
    if (row.empty() || row.back().end_ns <= begin) return row.size();
    const auto next =
        std::upper_bound(row.begin(), row.end(), begin,
                         [](std::int64_t time, const TraceSpan& s) { return time < s.end_ns; });
    if (next->begin_ns < end) return std::nullopt;
    return static_cast<std::size_t>(next - row.begin());
}

}  // namespace

/// Puts the span into its row, its begin moved to where the row ends when need be. False: it cannot
/// be there.
bool TraceStore::place_span(std::uint32_t track_index, TraceSpan& span, std::uint8_t depth) {
    TraceTrack& track = tracks_[track_index];
    if (depth >= kMaxRows) {
        ++misplaced_;
        return false;
    }
    if (track.rows.size() <= depth) track.rows.resize(depth + std::size_t{1});
    SlidingArray<TraceSpan>& row = track.rows[depth];
    if (!row.empty() && span.begin_ns < row.back().end_ns) {
        // Rounding of clocks may cost a nanosecond or two; anything more is not a row any more.
        if (span.end_ns < row.back().end_ns) {
            ++misplaced_;
            return false;
        }
        span.begin_ns = row.back().end_ns;
    }
    row.push_back(span);
    count_span(track_index, depth, span);
    return true;
}

void TraceStore::count_span(std::uint32_t track_index, std::size_t row, const TraceSpan& span) {
    ++span_count_;
    end_ns_ = std::max(end_ns_, span.end_ns);
    const TraceTrack& track = tracks_[track_index];
    if (row != 0 || track.kind != TrackKind::thread) return;
    track_states_[track_index].outer_ns += span.length_ns();
    std::uint32_t& busiest = process_states_[track.process].busiest;
    if (busiest == kNoTrack ||
        track_states_[busiest].outer_ns < track_states_[track_index].outer_ns)
        busiest = track_index;
}

void TraceStore::stage_span(std::uint32_t track, const Staged& staged) {
    if (track == kNoTrack) {
        ++misplaced_;
        return;
    }
    std::vector<Staged>& on = track_states_[track].staged;
    if (on.empty()) touched_.push_back(track);
    on.push_back(staged);
}

void TraceStore::settle(std::uint32_t track_index) {
    std::vector<Staged>& staged = track_states_[track_index].staged;
    const auto earlier = [](const Staged& a, const Staged& b) {
        return a.span.begin_ns != b.span.begin_ns ? a.span.begin_ns < b.span.begin_ns
                                                  : a.span.end_ns > b.span.end_ns;
    };
    if (!std::is_sorted(staged.begin(), staged.end(), earlier))
        std::stable_sort(staged.begin(), staged.end(), earlier);
    TraceTrack& track = tracks_[track_index];
    struct Arrivals {  // of one row
        std::vector<std::size_t> places;
        std::vector<const Staged*> items;
        std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
    };
    std::vector<Arrivals> arrivals;
    for (Staged& s : staged) {
        const std::size_t rows = std::max(track.rows.size(), arrivals.size());
        std::size_t row = s.first_row;
        std::optional<std::size_t> place;
        for (; row < kMaxRows; ++row) {
            if (row < arrivals.size() && arrivals[row].end_ns > s.span.begin_ns) continue;
            place = row < track.rows.size()
                        ? room_in(track.rows[row].view(), s.span.begin_ns, s.span.end_ns)
                        : 0;
            if (place || row >= rows) break;
        }
        s.row = place ? static_cast<std::uint8_t>(row) : kNoRow;
        if (!place) {
            ++misplaced_;
            continue;
        }
        if (arrivals.size() <= row) arrivals.resize(row + 1);
        arrivals[row].places.push_back(*place);
        arrivals[row].items.push_back(&s);
        arrivals[row].end_ns = s.span.end_ns;
    }
    for (std::size_t row = 0; row < arrivals.size(); ++row)
        if (!arrivals[row].items.empty())
            merge_row(track_index, row, arrivals[row].places, arrivals[row].items);
}

void TraceStore::merge_row(std::uint32_t track_index, std::size_t row,
                           std::span<const std::size_t> places,
                           std::span<const Staged* const> added) {
    TraceTrack& track = tracks_[track_index];
    if (track.rows.size() <= row) track.rows.resize(row + 1);
    track.rows[row].insert(places, [&](std::size_t i) { return added[i]->span; });
    for (const Staged* s : added) count_span(track_index, row, s->span);
    if (track.kind != TrackKind::gpu_stream) return;
    if (track.launches.size() <= row) track.launches.resize(track.rows.size());
    if (track.works.size() <= row) track.works.resize(track.rows.size());
    track.launches[row].insert(places, [&](std::size_t i) { return added[i]->launch; });
    track.works[row].insert(places, [&](std::size_t i) { return staged_works_[added[i]->work]; });
}

}  // namespace gs
