// How spans get into rows. Ranges of threads come in order and know their depth: place() appends.
// CUPTI's records, and ranges that may overlap, come in any order: they are staged per track while
// a batch is read, then settle() puts them, in order of time, on the first row that has space,
// between those that are there.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "profiler/store/timeline.h"

namespace gs {
namespace {

constexpr std::size_t kMaxRows = 64;
// As many as may be open at once in a program (inject/ranges.cpp).
constexpr std::size_t kMaxOverlapping = 4096;
constexpr std::size_t kSearchedRows = 64;  // between the spans of further ones no space is searched

/// Before which span of `row` there is space for [begin, end]; none: it overlaps one of them.
std::optional<std::size_t> room_in(std::span<const TraceSpan> row, std::int64_t begin,
                                   std::int64_t end) {
    if (row.empty() || row.back().end_ns <= begin) return row.size();
    const auto next = std::ranges::upper_bound(row, begin, {}, &TraceSpan::end_ns);
    if (next->begin_ns < end) return std::nullopt;
    return static_cast<std::size_t>(next - row.begin());
}

bool earlier(const StagedSpan& a, const StagedSpan& b) {
    return a.span.begin_ns != b.span.begin_ns ? a.span.begin_ns < b.span.begin_ns
                                              : a.span.end_ns > b.span.end_ns;
}

/// What comes into one row, ascending, and before which of its spans.
struct Arrivals {
    std::vector<std::size_t> places;
    std::vector<const StagedSpan*> items;
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
};

/// The first row that has space for `s` beside what arrives with it, and before which of its spans;
/// no place: there is none.
std::pair<std::size_t, std::optional<std::size_t>> row_with_room(
    const TraceTrack& track, const std::vector<Arrivals>& arrivals, const StagedSpan& s) {
    const std::size_t most = track.kind == TrackKind::overlapping ? kMaxOverlapping : kMaxRows;
    for (std::size_t row = s.first_row; row < most; ++row) {
        if (row < arrivals.size() && arrivals[row].end_ns > s.span.begin_ns) continue;
        if (row >= track.rows.size()) return {row, 0};
        const auto spans = track.rows[row].view();
        if (row >= kSearchedRows && !spans.empty() && spans.back().end_ns > s.span.begin_ns)
            continue;
        if (const auto place = room_in(spans, s.span.begin_ns, s.span.end_ns)) return {row, place};
    }
    return {most, std::nullopt};
}

void merge_row(TraceTrack& track, std::size_t row, const Arrivals& in,
               std::span<const GpuWork> works) {
    if (track.rows.size() <= row) track.rows.resize(row + 1);
    track.rows[row].insert(in.places, [&](std::size_t i) { return in.items[i]->span; });
    if (track.kind != TrackKind::gpu_stream) return;
    if (track.launches.size() <= row) track.launches.resize(track.rows.size());
    if (track.works.size() <= row) track.works.resize(track.rows.size());
    track.launches[row].insert(in.places, [&](std::size_t i) { return in.items[i]->launch; });
    track.works[row].insert(in.places, [&](std::size_t i) { return works[in.items[i]->work]; });
}

}  // namespace

bool Timeline::place(std::uint32_t track_index, TraceSpan& span, std::uint8_t depth) {
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
    count(track_index, depth, span);
    return true;
}

void Timeline::count(std::uint32_t track_index, std::size_t row, const TraceSpan& span) {
    ++span_count_;
    end_ns_ = std::max(end_ns_, span.end_ns);
    const TraceTrack& track = tracks_[track_index];
    if (row != 0 || track.kind != TrackKind::thread) return;
    threads_.add_time(track_index, track.process, span.length_ns());
}

void Timeline::settle(std::uint32_t track_index, std::vector<StagedSpan>& staged,
                      std::span<const GpuWork> works) {
    if (!std::ranges::is_sorted(staged, earlier)) std::ranges::stable_sort(staged, earlier);
    TraceTrack& track = tracks_[track_index];
    std::vector<Arrivals> arrivals;
    for (StagedSpan& s : staged) {
        const auto [row, place] = row_with_room(track, arrivals, s);
        s.row = place ? static_cast<std::uint16_t>(row) : StagedSpan::kNoRow;
        if (!place) {
            ++misplaced_;
            continue;
        }
        if (arrivals.size() <= row) arrivals.resize(row + 1);
        arrivals[row].places.push_back(*place);
        arrivals[row].items.push_back(&s);
        arrivals[row].end_ns = s.span.end_ns;
    }
    for (std::size_t row = 0; row < arrivals.size(); ++row) {
        if (arrivals[row].items.empty()) continue;
        merge_row(track, row, arrivals[row], works);
        for (const StagedSpan* s : arrivals[row].items) count(track_index, row, s->span);
    }
}

}  // namespace gs
