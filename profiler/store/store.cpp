#include "profiler/store/store.h"

#include <algorithm>
#include <limits>

namespace gs {

void TraceStore::ingest(const TraceBatch& batch) {
    if (batch.read_ns == 0) return;
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

FoundSpan TraceStore::range_of(std::size_t track, std::size_t row, const TraceSpan& span) const {
    const TraceLaunch* const launch = timeline_.launch_of(track, row, span);
    if (launch == nullptr) return {};
    const TraceTrack& caller = tracks()[launch->track];
    if (caller.kind == TrackKind::thread)  // the stage timer names the range itself
        return timeline_.launching_span(track, row, span);
    FoundSpan out = timeline_.innermost_of_thread(caller.process, caller.tid, launch->time_ns);
    if (out.span != nullptr) return out;
    const std::uint32_t iterations = frames_.iterations_on(caller.process);
    out = timeline_.innermost_at(
        iterations != kNoTrack ? iterations : timeline_.busiest_thread(caller.process),
        launch->time_ns);
    out.inferred = out.span != nullptr;
    return out;
}

std::string TraceStore::value_text(const TraceValue& value) const {
    return value.kind == PayloadKind::name
               ? std::string(name(static_cast<std::uint32_t>(value.value)))
               : payload_text(value.value, value.kind);
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
    out.instants_ =
        instants_;  // few, and those that say why something is not there come at the start
    return out;
}

}  // namespace gs
