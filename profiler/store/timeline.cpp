#include "profiler/store/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace gs {

std::size_t first_ending_after(std::span<const TraceSpan> row, std::int64_t t) {
    return static_cast<std::size_t>(
        std::upper_bound(row.begin(), row.end(), t,
                         [](std::int64_t time, const TraceSpan& s) { return time < s.end_ns; }) -
        row.begin());
}

namespace {

std::uint64_t thread_key(std::uint32_t process, std::uint32_t tid) {
    return std::uint64_t{process} << 32 | tid;
}

/// Those that end before `t`.
std::size_t count_before(const SlidingArray<TraceSpan>& row, std::int64_t t) {
    return first_ending_after(row.view(), t - 1);
}

std::size_t bytes_per_span(const TraceTrack& track, std::size_t row) {
    return sizeof(TraceSpan) + (row < track.launches.size() ? sizeof(TraceLaunch) : 0) +
           (row < track.works.size() ? sizeof(GpuWork) : 0);
}

/// What is stored beside `span`, which is in `row` of `rows`; null when there is nothing.
template <class T>
const T* beside(const TraceSpan& span, std::size_t row,
                const std::vector<SlidingArray<TraceSpan>>& rows,
                const std::vector<SlidingArray<T>>& those) {
    if (row >= those.size()) return nullptr;
    const std::ptrdiff_t at = &span - rows[row].view().data();
    const auto view = those[row].view();
    return at >= 0 && at < static_cast<std::ptrdiff_t>(view.size())
               ? &view[static_cast<std::size_t>(at)]
               : nullptr;
}

}  // namespace

bool TraceTrack::empty() const {
    return std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.empty(); });
}

std::string payload_text(const TraceSpan& span) {
    return span.has_payload ? payload_text(span.payload, span.payload_kind) : std::string();
}

std::string payload_text(std::uint64_t payload, PayloadKind kind) {
    if (kind == PayloadKind::real) return fmt::format("{:.6g}", std::bit_cast<double>(payload));
    if (kind == PayloadKind::signed_whole)
        return std::to_string(std::bit_cast<std::int64_t>(payload));
    return std::to_string(payload);
}

const TraceSpan* TraceTrack::span_at(std::size_t row, std::int64_t t) const {
    if (row >= rows.size()) return nullptr;
    const std::span<const TraceSpan> spans = rows[row].view();
    const std::size_t at = first_ending_after(spans, t);
    return at < spans.size() && spans[at].begin_ns <= t ? &spans[at] : nullptr;
}

const TraceLaunch* TraceTrack::launch_of(std::size_t row, const TraceSpan& span) const {
    const TraceLaunch* const launch = beside(span, row, rows, launches);
    return launch != nullptr && launch->track != kNoTrack ? launch : nullptr;
}

const GpuWork* TraceTrack::work_of(std::size_t row, const TraceSpan& span) const {
    return beside(span, row, rows, works);
}

std::span<const std::uint32_t> ThreadIndex::all(std::uint32_t process, std::uint32_t tid,
                                                TrackKind kind) const {
    const auto& tracks = tracks_of_[static_cast<std::size_t>(kind)];
    const auto found = tracks.find(thread_key(process, tid));
    return found == tracks.end() ? std::span<const std::uint32_t>() : std::span(found->second);
}

std::uint32_t ThreadIndex::find(std::uint32_t process, std::uint32_t tid, TrackKind kind) const {
    const auto tracks = all(process, tid, kind);
    return tracks.empty() ? kNoTrack : tracks.back();
}

std::uint32_t ThreadIndex::busiest(std::uint32_t process) const {
    return process < busiest_.size() ? busiest_[process] : kNoTrack;
}

void ThreadIndex::add(std::uint32_t track, const TrackFacts& facts) {
    if (outer_ns_.size() <= track) outer_ns_.resize(track + std::size_t{1});
    tracks_of_[static_cast<std::size_t>(facts.kind)][thread_key(facts.process, facts.tid)]
        .push_back(track);
}

void ThreadIndex::add_time(std::uint32_t track, std::uint32_t process, std::int64_t ns) {
    outer_ns_[track] += ns;
    if (busiest_.size() <= process) busiest_.resize(process + std::size_t{1}, kNoTrack);
    std::uint32_t& busiest = busiest_[process];
    if (busiest == kNoTrack || outer_ns_[busiest] < outer_ns_[track]) busiest = track;
}

void ThreadIndex::renumber(const NewNumbers& to, std::span<const TraceTrack> tracks) {
    keep_those(outer_ns_, to);
    for (auto& of_kind : tracks_of_) of_kind.clear();
    busiest_.clear();
    for (std::uint32_t track = 0; track < tracks.size(); ++track) {
        add(track, tracks[track]);
        if (outer_ns_[track] > 0) add_time(track, tracks[track].process, 0);
    }
}

std::uint32_t Timeline::add(std::uint32_t process, std::uint32_t pid, std::uint32_t tid,
                            TrackKind kind) {
    if (tracks_.size() >= kMaxTracks) return kNoTrack;
    const auto index = static_cast<std::uint32_t>(tracks_.size());
    TraceTrack& track = tracks_.emplace_back();
    track.process = process;
    track.pid = pid;
    track.tid = tid;
    track.kind = kind;
    threads_.add(index, track);
    return index;
}

std::int64_t Timeline::begin_ns() const {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    for (const TraceTrack& track : tracks_)
        for (const auto& row : track.rows)
            if (!row.empty()) begin = std::min(begin, row.view().front().begin_ns);
    return begin == std::numeric_limits<std::int64_t>::max() ? 0 : begin;
}

FoundSpan Timeline::launching_span(std::size_t track, std::size_t row,
                                   const TraceSpan& span) const {
    if (track >= tracks_.size()) return {};
    const TraceLaunch* const launch = tracks_[track].launch_of(row, span);
    if (launch == nullptr || launch->row >= tracks_[launch->track].rows.size()) return {};
    const TraceTrack& from = tracks_[launch->track];
    // A driver's call that was reported first is inside the runtime's, which is what the program
    // wrote.
    if (from.kind == TrackKind::api && launch->row > 0)
        if (const TraceSpan* outer = from.span_at(0, launch->time_ns))
            return {outer, launch->track, 0};
    const std::span<const TraceSpan> spans = from.rows[launch->row].view();
    std::size_t found = first_ending_after(spans, launch->time_ns);
    // A call that took no time at all ends where it begins.
    if (found > 0 && spans[found - 1].begin_ns == launch->time_ns) --found;
    // Its begin may have been moved by what clocks round.
    constexpr std::int64_t kRoundingNs = 100;
    if (found == spans.size() || spans[found].begin_ns > launch->time_ns + kRoundingNs) return {};
    return {&spans[found], launch->track, launch->row};
}

std::uint64_t Timeline::spans_before(std::int64_t t) const {
    std::uint64_t count = 0;
    for (const TraceTrack& track : tracks_)
        for (const auto& row : track.rows) count += count_before(row, t);
    return count;
}

std::size_t Timeline::bytes_before(std::int64_t t) const {
    std::size_t bytes = 0;
    for (const TraceTrack& track : tracks_)
        for (std::size_t r = 0; r < track.rows.size(); ++r)
            bytes += count_before(track.rows[r], t) * bytes_per_span(track, r);
    return bytes;
}

void Timeline::forget_before(std::int64_t t) {
    for (TraceTrack& track : tracks_)
        for (std::size_t r = 0; r < track.rows.size(); ++r) {
            const std::size_t count = count_before(track.rows[r], t);
            if (count != 0) kept_from_ns_ = std::max(kept_from_ns_, t);
            track.rows[r].drop_front(count);
            if (r < track.launches.size()) track.launches[r].drop_front(count);
            if (r < track.works.size()) track.works[r].drop_front(count);
            span_count_ -= count;
            forgotten_ += count;
        }
    for (TraceTrack& track : tracks_)  // of which there may be thousands
        while (track.kind == TrackKind::overlapping && !track.rows.empty() &&
               track.rows.back().empty())
            track.rows.pop_back();
}

void Timeline::renumber(const Renumbering& to) {
    for (std::size_t t = 0; t < tracks_.size(); ++t)
        if (!to.track.stays(t))
            for (const auto& row : tracks_[t].rows) {
                span_count_ -= row.size();
                forgotten_ += row.size();
            }
    keep_those(tracks_, to.track);
    for (TraceTrack& track : tracks_) {
        track.process = to.process(track.process);
        if (!to.name.all_stay())
            for (auto& row : track.rows)
                for (TraceSpan& span : row.items()) span.name = to.name(span.name);
        if (!to.track.all_stay())
            for (auto& row : track.launches)
                for (TraceLaunch& launch : row.items()) launch.track = to.track(launch.track);
    }
    threads_.renumber(to.track, tracks_);
}

void Timeline::clear() {
    for (TraceTrack& track : tracks_) {
        track.rows.clear();
        track.launches.clear();
        track.works.clear();
    }
    span_count_ = 0;
    end_ns_ = kept_from_ns_ = 0;
}

std::size_t Timeline::bytes() const {
    std::size_t total = track_bytes();
    const auto add = [&total](const auto& arrays) {
        for (const auto& array : arrays) total += array.bytes();
    };
    for (const TraceTrack& track : tracks_) {
        add(track.rows);
        add(track.launches);
        add(track.works);
    }
    return total;
}

namespace {

/// [first, last) of a row that overlap [begin, end].
std::pair<std::size_t, std::size_t> within(std::span<const TraceSpan> row, std::int64_t begin,
                                           std::int64_t end) {
    const std::size_t first = first_ending_after(row, begin);
    const auto last =
        std::lower_bound(row.begin() + static_cast<std::ptrdiff_t>(first), row.end(), end,
                         [](const TraceSpan& s, std::int64_t t) { return s.begin_ns < t; });
    return {first, static_cast<std::size_t>(last - row.begin())};
}

template <class T>
SlidingArray<T> part_of(const SlidingArray<T>& all, std::pair<std::size_t, std::size_t> range) {
    SlidingArray<T> out;
    const auto view = all.view();
    for (std::size_t i = range.first; i < std::min(range.second, view.size()); ++i)
        out.push_back(view[i]);
    return out;
}

}  // namespace

Timeline Timeline::excerpt(std::int64_t begin, std::int64_t end) const {
    Timeline out;
    out.threads_ = threads_;
    out.tracks_.reserve(tracks_.size());
    for (const TraceTrack& track : tracks_) {
        TraceTrack& copy = out.tracks_.emplace_back();
        static_cast<TrackFacts&>(copy) = track;
        for (std::size_t r = 0; r < track.rows.size(); ++r) {
            const auto range = within(track.rows[r].view(), begin, end);
            copy.rows.push_back(part_of(track.rows[r], range));
            if (r < track.launches.size())
                copy.launches.push_back(part_of(track.launches[r], range));
            if (r < track.works.size()) copy.works.push_back(part_of(track.works[r], range));
            out.span_count_ += range.second - range.first;
            if (!copy.rows.back().empty())
                out.end_ns_ = std::max(out.end_ns_, copy.rows.back().back().end_ns);
        }
    }
    return out;
}

}  // namespace gs
