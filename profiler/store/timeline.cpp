#include "profiler/store/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace gs {
namespace {

std::uint64_t thread_key(std::uint32_t process, std::uint32_t tid) {
    return std::uint64_t{process} << 32 | tid;
}

/// The first of a row that ends after `t`.
std::size_t first_ending_after(std::span<const TraceSpan> row, std::int64_t t) {
    return static_cast<std::size_t>(
        std::upper_bound(row.begin(), row.end(), t,
                         [](std::int64_t time, const TraceSpan& s) { return time < s.end_ns; }) -
        row.begin());
}

/// Those that end before `t`.
std::size_t count_before(const SlidingArray<TraceSpan>& row, std::int64_t t) {
    return first_ending_after(row.view(), t - 1);
}

std::size_t bytes_per_span(const TraceTrack& track, std::size_t row) {
    return sizeof(TraceSpan) + (row < track.launches.size() ? sizeof(TraceLaunch) : 0) +
           (row < track.works.size() ? sizeof(GpuWork) : 0);
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

std::uint32_t Timeline::add(std::uint32_t process, std::uint32_t pid, std::uint32_t tid,
                            TrackKind kind) {
    if (tracks_.size() >= kMaxTracks) return kNoTrack;
    const auto index = static_cast<std::uint32_t>(tracks_.size());
    TraceTrack& track = tracks_.emplace_back();
    outer_ns_.push_back(0);
    track.process = process;
    track.pid = pid;
    track.tid = tid;
    track.kind = kind;
    tracks_of_tid_[static_cast<std::size_t>(kind)][thread_key(process, tid)].push_back(index);
    return index;
}

std::uint32_t Timeline::track_of(std::uint32_t process, std::uint32_t tid, TrackKind kind) const {
    const auto& tracks = tracks_of_tid_[static_cast<std::size_t>(kind)];
    const auto found = tracks.find(thread_key(process, tid));
    return found == tracks.end() ? kNoTrack : found->second.back();
}

std::uint32_t Timeline::busiest_thread(std::uint32_t process) const {
    return process < busiest_.size() ? busiest_[process] : kNoTrack;
}

std::int64_t Timeline::begin_ns() const {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    for (const TraceTrack& track : tracks_)
        for (const auto& row : track.rows)
            if (!row.empty()) begin = std::min(begin, row.view().front().begin_ns);
    return begin == std::numeric_limits<std::int64_t>::max() ? 0 : begin;
}

void Timeline::visible(std::size_t track, std::size_t row, std::int64_t t0, std::int64_t t1,
                       std::int64_t merge_ns, std::vector<DrawnSpan>& out) const {
    if (track >= tracks_.size() || row >= tracks_[track].rows.size()) return;
    const std::span<const TraceSpan> spans = tracks_[track].rows[row].view();
    std::size_t at = first_ending_after(spans, t0);
    while (at < spans.size() && spans[at].begin_ns <= t1) {
        const TraceSpan& s = spans[at];
        DrawnSpan drawn{s.begin_ns,
                        s.end_ns,
                        s.payload,
                        s.name,
                        1,
                        s.has_payload,
                        static_cast<std::uint32_t>(at)};
        std::size_t next = at + 1;
        if (s.length_ns() < merge_ns) {
            // Everything that ends within this pixel becomes one block.
            next += first_ending_after(spans.subspan(next), s.begin_ns + merge_ns);
            drawn.count = static_cast<std::uint32_t>(next - at);
            drawn.end_ns = spans[next - 1].end_ns;
        }
        out.push_back(drawn);
        at = next;
    }
}

const TraceSpan* Timeline::span_at(std::size_t track, std::size_t row, std::int64_t t) const {
    if (track >= tracks_.size() || row >= tracks_[track].rows.size()) return nullptr;
    const std::span<const TraceSpan> spans = tracks_[track].rows[row].view();
    const std::size_t at = first_ending_after(spans, t);
    return at < spans.size() && spans[at].begin_ns <= t ? &spans[at] : nullptr;
}

namespace {

/// Index of `span` in its row; the row's size if it is not in it.
std::size_t place_in(std::span<const TraceSpan> row, const TraceSpan& span) {
    const std::ptrdiff_t at = &span - row.data();
    return at < 0 || at >= static_cast<std::ptrdiff_t>(row.size()) ? row.size()
                                                                   : static_cast<std::size_t>(at);
}

}  // namespace

const TraceLaunch* Timeline::launch_of(std::size_t track, std::size_t row,
                                       const TraceSpan& span) const {
    if (track >= tracks_.size() || row >= tracks_[track].launches.size()) return nullptr;
    const auto launches = tracks_[track].launches[row].view();
    const std::size_t at = place_in(tracks_[track].rows[row].view(), span);
    return at < launches.size() && launches[at].track < tracks_.size() ? &launches[at] : nullptr;
}

const GpuWork* Timeline::gpu_work(std::size_t track, std::size_t row, const TraceSpan& span) const {
    if (track >= tracks_.size() || row >= tracks_[track].works.size()) return nullptr;
    const auto works = tracks_[track].works[row].view();
    const std::size_t at = place_in(tracks_[track].rows[row].view(), span);
    return at < works.size() ? &works[at] : nullptr;
}

FoundSpan Timeline::launching_span(std::size_t track, std::size_t row,
                                   const TraceSpan& span) const {
    const TraceLaunch* const launch = launch_of(track, row, span);
    if (launch == nullptr || launch->row >= tracks_[launch->track].rows.size()) return {};
    // A driver's call that was reported first is inside the runtime's, which is what the program
    // wrote.
    if (tracks_[launch->track].kind == TrackKind::api && launch->row > 0)
        if (const TraceSpan* outer = span_at(launch->track, 0, launch->time_ns))
            return {outer, launch->track, 0};
    const std::span<const TraceSpan> spans = tracks_[launch->track].rows[launch->row].view();
    std::size_t found = first_ending_after(spans, launch->time_ns);
    // A call that took no time at all ends where it begins.
    if (found > 0 && spans[found - 1].begin_ns == launch->time_ns) --found;
    // Its begin may have been moved by what clocks round.
    constexpr std::int64_t kRoundingNs = 100;
    if (found == spans.size() || spans[found].begin_ns > launch->time_ns + kRoundingNs) return {};
    return {&spans[found], launch->track, launch->row};
}

FoundSpan Timeline::innermost_at(std::uint32_t track, std::int64_t t) const {
    if (track >= tracks_.size()) return {};
    for (std::size_t row = tracks_[track].rows.size(); row-- > 0;)
        if (const TraceSpan* span = span_at(track, row, t)) return {span, track, row, false};
    return {};
}

FoundSpan Timeline::innermost_of_thread(std::uint32_t process, std::uint32_t tid,
                                        std::int64_t t) const {
    constexpr std::size_t kNewest = 4;
    const auto& threads = tracks_of_tid_[static_cast<std::size_t>(TrackKind::thread)];
    const auto own = threads.find(thread_key(process, tid));
    FoundSpan out;
    if (own == threads.end()) return out;
    for (std::size_t i = 0; i < std::min(own->second.size(), kNewest); ++i) {
        const FoundSpan found = innermost_at(own->second[own->second.size() - 1 - i], t);
        if (found.span != nullptr &&
            (out.span == nullptr || found.span->begin_ns > out.span->begin_ns))
            out = found;
    }
    return out;
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
    keep_those(outer_ns_, to.track);
    for (TraceTrack& track : tracks_) {
        track.process = to.process(track.process);
        if (!to.name.all_stay())
            for (auto& row : track.rows)
                for (TraceSpan& span : row.items()) span.name = to.name(span.name);
        if (!to.track.all_stay())
            for (auto& row : track.launches)
                for (TraceLaunch& launch : row.items()) launch.track = to.track(launch.track);
    }
    index_tracks();
}

void Timeline::index_tracks() {
    for (auto& tracks : tracks_of_tid_) tracks.clear();
    busiest_.clear();
    for (std::uint32_t index = 0; index < tracks_.size(); ++index) {
        const TraceTrack& track = tracks_[index];
        tracks_of_tid_[static_cast<std::size_t>(track.kind)][thread_key(track.process, track.tid)]
            .push_back(index);
        if (outer_ns_[index] > 0) make_busiest(index);
    }
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
    out.outer_ns_ = outer_ns_;
    out.busiest_ = busiest_;
    std::copy(std::begin(tracks_of_tid_), std::end(tracks_of_tid_), std::begin(out.tracks_of_tid_));
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
