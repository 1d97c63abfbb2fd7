// How a TraceStore stays within its limits: the oldest data goes when there is too much, and a
// process that has ended goes when it is empty.
#include <algorithm>
#include <limits>
#include <utility>

#include "profiler/store/store.h"

namespace gs {
namespace {

constexpr std::int64_t kGraceNs = 30'000'000'000;  ///< `serve` is to see how a process ended
constexpr std::size_t kMostEnded = 1024;           ///< processes; each is looked at every second
constexpr std::size_t kMostTracks = Timeline::kMaxTracks / 4 * 3;
constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max();

/// The earliest time in (low, high] before which measure(time) is at least `excess`; else `high`.
template <class Measure>
std::int64_t time_to_forget(std::int64_t low, std::int64_t high, std::uint64_t excess,
                            const Measure& measure) {
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (measure(middle) < excess ? low : high) = middle;
    }
    return high;
}

/// What a batch may add to what is held, at most.
std::size_t most_bytes_of(const TraceBatch& b) {
    constexpr std::size_t kRecord = sizeof(TraceSpan) + sizeof(TraceLaunch) + sizeof(GpuWork);
    constexpr std::size_t kThing = 1024;  // a source, a track, a name
    return kRecord * (b.spans.size() + b.counters.size() + b.async_spans.size() +
                      b.gpu_work.size() + b.api_calls.size() + b.syncs.size() + b.memory.size() +
                      b.overheads.size() + b.stacks.size() + b.samples.size() + b.values.size()) +
           kThing * (b.tracks.size() + b.names.size() + b.frames.size() + 1);
}

std::int64_t last_end(const TraceTrack& track) {
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    for (const auto& row : track.rows)
        if (!row.empty()) end = std::max(end, row.back().end_ns);
    return end;
}

/// Of `those` (a time and an index each) all but the newest `most` stay no longer.
void let_oldest_go(std::vector<std::pair<std::int64_t, std::size_t>> those, std::size_t most,
                   std::vector<bool>& stays) {
    if (those.size() <= most) return;
    const auto kept = those.end() - static_cast<std::ptrdiff_t>(most);
    std::nth_element(those.begin(), kept, those.end());
    for (auto each = those.begin(); each != kept; ++each) stays[each->second] = false;
}

std::vector<bool> staying_processes(const TraceStore& store, std::int64_t now_ns) {
    const auto& processes = store.processes();
    std::vector<bool> stays(processes.size());
    for (const TraceTrack& track : store.tracks())
        if (!track.empty()) stays[track.process] = true;
    for (const CounterSeries& series : store.counters())
        if (!series.points.empty()) stays[series.process] = true;
    for (const SampledThread& thread : store.samples().threads()) stays[thread.process] = true;
    std::vector<std::pair<std::int64_t, std::size_t>> ended;
    for (std::size_t p = 0; p < processes.size(); ++p) {
        if (!processes[p].ended || now_ns - processes[p].read_ns < kGraceNs) stays[p] = true;
        if (processes[p].ended && stays[p]) ended.emplace_back(processes[p].read_ns, p);
    }
    let_oldest_go(std::move(ended), kMostEnded, stays);
    return stays;
}

// Tracks of a process that has ended go with it: what was open on them says where it ended.
std::vector<bool> staying_tracks(const TraceStore& store, const std::vector<bool>& processes) {
    const std::vector<TraceTrack>& tracks = store.tracks();
    const std::vector<bool> held = store.sources().held_tracks(store.timeline());
    std::vector<bool> stays(tracks.size()), marked(tracks.size());
    for (const TraceInstant& instant : store.instants())
        if (instant.track < marked.size()) marked[instant.track] = true;
    std::vector<std::pair<std::int64_t, std::size_t>> free;
    for (std::size_t t = 0; t < tracks.size(); ++t) {
        const TraceTrack& track = tracks[t];
        const bool ended = store.processes()[track.process].ended;
        stays[t] = processes[track.process] && (held[t] || marked[t] || ended || !track.empty());
        if (stays[t] && !held[t]) free.emplace_back(last_end(track), t);
    }
    const std::size_t staying = static_cast<std::size_t>(std::ranges::count(stays, true));
    const std::size_t excess = staying - std::min(staying, kMostTracks);
    const std::size_t most = free.size() - std::min(free.size(), excess);
    let_oldest_go(std::move(free), most, stays);
    return stays;
}

std::vector<bool> used_names(const TraceStore& store, const NewNumbers& stays) {
    const std::vector<TraceTrack>& tracks = store.tracks();
    std::vector<bool> used(store.names().size());
    for (std::uint32_t name = 0; name < used.size(); ++name)
        used[name] = store.names().is_fixed(name);
    store.sources().mark_names(used);
    store.samples().mark_names(used);
    for (std::size_t t = 0; t < tracks.size(); ++t)
        if (stays.stays(t))
            for (const auto& row : tracks[t].rows)
                for (const TraceSpan& span : row.view()) used[span.name] = true;
    for (const CounterSeries& series : store.counters()) used[series.name] = true;
    for (const TraceInstant& instant : store.instants()) used[instant.name] = true;
    store.values().mark_names(used);
    return used;
}

}  // namespace

// An eighth goes at once.
void TraceStore::keep_within_limits(const TraceBatch& batch) {
    if (span_count() > options_.max_spans) {
        const std::uint64_t excess = span_count() - (options_.max_spans - options_.max_spans / 8);
        timeline_.forget_before(
            time_to_forget(begin_ns(), end_ns() + 1, excess,
                           [&](std::int64_t t) { return timeline_.spans_before(t); }));
        values_.forget_before(timeline_.kept_from_ns());
    }
    unchecked_bytes_ += most_bytes_of(batch);
    if (options_.max_bytes == 0 || unchecked_bytes_ < options_.max_bytes / 64) return;
    unchecked_bytes_ = 0;
    free_bytes();
}

void TraceStore::free_bytes() {
    const auto before = [&](std::int64_t t) {
        return timeline_.bytes_before(t) + counters_.bytes_before(t) + sources_.bytes_before(t) +
               samples_.bytes_before(t) + values_.bytes_before(t);
    };
    // However much there is of what time does not free, half of the memory is for what it does.
    const std::size_t fixed = names_.bytes() + timeline_.track_bytes() + sources_.fixed_bytes() +
                              launches_.bytes() + samples_.fixed_bytes() + frames_.bytes() +
                              counters().size() * sizeof(CounterSeries);
    constexpr std::size_t kSpare = SlidingArray<TraceSpan>::kSpare;
    const std::size_t most =
        (options_.max_bytes - std::min(fixed, options_.max_bytes / 2)) / (kSpare + 1) * kSpare;
    const std::size_t held = before(kEver);
    if (held <= most) return;
    const std::int64_t newest = std::max(end_ns(), sources_.read_ns()) + 1;
    const std::int64_t t = time_to_forget(std::min<std::int64_t>(0, begin_ns()), newest,
                                          held - (most - most / 8), before);
    timeline_.forget_before(t);
    counters_.forget_before(t);
    sources_.forget_before(t);
    samples_.forget_before(t);
    values_.forget_before(t);
}

bool TraceStore::retire(std::int64_t now_ns) {
    const std::vector<bool> processes = staying_processes(*this, now_ns);
    Renumbering to{.process = NewNumbers(processes),
                   .track = NewNumbers(staying_tracks(*this, processes)),
                   .name = {}};
    const bool many_names = names_.size() > 2 * names_looked_at_;
    if (many_names) to.name = NewNumbers(used_names(*this, to.track));
    const bool all_stay = to.process.all_stay() && to.track.all_stay() && to.name.all_stay();
    if (!all_stay) renumber(to);
    if (many_names) names_looked_at_ = names_.size();
    return !all_stay;
}

void TraceStore::renumber(const Renumbering& to) {
    for (TraceInstant& instant : instants_.items()) {
        instant.track = to.track(instant.track);
        instant.name = to.name(instant.name);
    }
    instants_ = filtered(instants_, [](const TraceInstant& i) { return i.track != kNoTrack; });
    counters_.renumber(to);
    samples_.renumber(to);
    values_.renumber(to);
    sources_.renumber(to);
    launches_.renumber(to);
    frames_.renumber(to);
    timeline_.renumber(to);
    names_.renumber(to.name);
}

}  // namespace gs
