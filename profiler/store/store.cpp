#include "profiler/store/store.h"

#include <algorithm>
#include <limits>

namespace gs {
namespace {

constexpr std::int64_t kNoEvent = std::numeric_limits<std::int64_t>::max();

/// When the first event of a batch begins.
std::int64_t earliest_in(const TraceBatch& batch) {
    std::int64_t first = kNoEvent;
    const auto look_at = [&first](const auto& events) {
        for (const auto& e : events) first = std::min(first, e.begin_ns);
    };
    look_at(batch.spans);
    look_at(batch.open);
    look_at(batch.async_spans);
    look_at(batch.api_calls);
    look_at(batch.gpu_work);
    for (const SampleEvent& e : batch.samples) first = std::min(first, e.time_ns);
    return first;
}

/// The innermost range of a thread: on any of its newest tracks.
FoundSpan innermost_of(const TraceStore& store, const TrackFacts& thread, std::int64_t t) {
    constexpr std::size_t kNewest = 4;
    const auto own = store.timeline().threads().all(thread.process, thread.tid, TrackKind::thread);
    FoundSpan out;
    for (std::size_t i = 0; i < std::min(own.size(), kNewest); ++i) {
        const FoundSpan found = innermost_at(store, own[own.size() - 1 - i], t);
        if (found.span != nullptr &&
            (out.span == nullptr || found.span->begin_ns > out.span->begin_ns))
            out = found;
    }
    return out;
}

}  // namespace

void TraceStore::ingest(const TraceBatch& batch) {
    if (batch.read_ns == 0) return;
    if (const std::int64_t begin = earliest_in(batch); begin != kNoEvent)
        origin_ns_ = std::min(origin_ns_.value_or(begin), begin);
    TraceSource& source = sources_.take(batch, names_, timeline_);
    // The record that was lost may have been any: no frame that ends in this batch can be trusted
    // to be whole.
    const bool lossy = batch.loss.lapped > source.loss.lapped;
    std::uint32_t last_id = kNoTrack, track = kNoTrack;  // spans of a thread come together
    for (const SpanEvent& e : batch.spans) {
        if (e.track != last_id) track = source.track(last_id = e.track);
        if (track >= timeline_.tracks().size()) continue;
        TraceSpan span = source.span(e);
        if (timeline_.place(track, span, e.depth))
            frames_.take_range(timeline_, names_, track, span, e.depth, lossy);
    }
    launches_.take(source, batch, {names_, timeline_, frames_});
    for (const CounterEvent& e : batch.counters)
        counters_.add(source.process, source.name(e.name), {e.time_ns, e.value},
                      options_.max_points);
    for (const InstantEvent& e : batch.instants)
        instants_.push_back(
            {e.time_ns, e.payload, source.track(e.track), source.name(e.name), e.payload_kind});
    instants_.keep_newest(options_.max_points);
    for (const RangeValueEvent& e : batch.values)
        values_.add(source.track(e.track),
                    {e.begin_ns,
                     e.kind == PayloadKind::name
                         ? source.name(static_cast<std::uint32_t>(std::min<std::uint64_t>(
                               e.value, std::numeric_limits<std::uint32_t>::max())))
                         : e.value,
                     source.name(e.name), e.depth, e.kind});
    samples_.take(batch, source.process, names_);
    sources_.take_state(source, batch, options_.max_points);
    if (sources_.processes()[source.process].ended) {
        launches_.end(source.process);
        frames_.end(source.process);
    }
    keep_within_limits(batch);
}

std::int64_t TraceStore::begin_ns() const {
    if (samples_.empty()) return timeline_.begin_ns();
    return span_count() == 0 ? samples_.begin_ns()
                             : std::min(timeline_.begin_ns(), samples_.begin_ns());
}

void TraceStore::clear() {
    timeline_.clear();
    frames_.clear();
    launches_.clear();
    sources_.clear();
    counters_ = {};
    samples_ = {};
    values_ = {};
    instants_ = {};
}

FoundSpan innermost_at(const TraceStore& store, std::uint32_t track, std::int64_t t) {
    if (track >= store.tracks().size()) return {};
    const TraceTrack& of = store.tracks()[track];
    for (std::size_t row = of.rows.size(); row-- > 0;)
        if (const TraceSpan* span = of.span_at(row, t)) return {span, track, row, false};
    return {};
}

FoundSpan range_of(const TraceStore& store, std::size_t track, std::size_t row,
                   const TraceSpan& span) {
    const TraceLaunch* const launch = store.tracks()[track].launch_of(row, span);
    if (launch == nullptr) return {};
    const TraceTrack& caller = store.tracks()[launch->track];
    if (caller.kind == TrackKind::thread)  // the stage timer names the range itself
        return store.timeline().launching_span(track, row, span);
    FoundSpan out = innermost_of(store, caller, launch->time_ns);
    if (out.span != nullptr) return out;
    const std::uint32_t iterations = store.frames().iterations_on(caller.process);
    out = innermost_at(
        store,
        iterations != kNoTrack ? iterations : store.timeline().threads().busiest(caller.process),
        launch->time_ns);
    out.inferred = out.span != nullptr;
    return out;
}

std::size_t TraceStore::bytes() const {
    return names_.bytes() + timeline_.bytes() + frames_.bytes() + launches_.bytes() +
           sources_.bytes() + counters_.bytes() + samples_.bytes() + values_.bytes() +
           instants_.bytes();
}

TraceStore TraceStore::excerpt(std::int64_t begin, std::int64_t end) const {
    TraceStore out(options_);
    out.names_ = names_;
    out.sources_ = sources_.excerpt(begin, end);
    out.timeline_ = timeline_.excerpt(begin, end);
    out.frames_ = frames_.excerpt();
    out.counters_ = counters_.excerpt(begin, end);
    out.samples_ = samples_.excerpt(begin, end);
    out.values_ = values_.excerpt(begin, end);
    out.origin_ns_ = origin_ns_;
    out.instants_ =
        instants_;  // few, and those that say why something is not there come at the start
    return out;
}

}  // namespace gs
