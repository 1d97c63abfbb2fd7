#include "profiler/import_events.h"

#include <algorithm>
#include <set>

namespace gs {
namespace {

using Kind = ImportedEvent::Kind;
constexpr std::size_t kMaxTracks = 65536;
constexpr std::size_t kMaxDepth = 64;
/// Neighbours that overlap by no more than this do so because their times were rounded to microseconds.
constexpr std::int64_t kRoundingNs = 1000;
/// Frames take what has ended inside them: the store gets spans in pieces of this many, in order of their ends.
constexpr std::size_t kPiece = 1024;

}  // namespace

std::uint32_t ImportEvents::add_track() {
    if (tracks_.size() >= kMaxTracks) return kNoTrack;
    tracks_.emplace_back();
    tracks_.back().info.track = static_cast<std::uint32_t>(tracks_.size() - 1);
    return tracks_.back().info.track;
}

std::uint32_t ImportEvents::name(std::string_view text) {
    const auto next = static_cast<std::uint32_t>(names_.size() + 1);
    const auto [place, added] = id_of_name_.try_emplace(std::string(text), next);
    if (added) names_.push_back({next, std::string(text)});
    return place->second;
}

bool ImportEvents::full() {
    if (events_ < options_.max_events) return ++events_, false;
    skip("events beyond the first " + std::to_string(options_.max_events));
    return true;
}

void ImportEvents::add(std::uint32_t track, const ImportedEvent& event) {
    if (track >= tracks_.size())
        skip("events on tracks beyond the first " + std::to_string(kMaxTracks));
    else if (!full())
        tracks_[track].events.push_back(event);
}

void ImportEvents::add_instant(const InstantEvent& event) {
    if (!full()) instants_.push_back(event);
}

void ImportEvents::add_point(const CounterEvent& event) {
    if (!full()) points_.push_back(event);
}

// Leaves finished spans only, in order of their ends, with depths.
void ImportEvents::pair(Track& track, std::vector<OpenSpan>& open) {
    std::vector<ImportedEvent> done, stack;
    const auto earlier = [](const ImportedEvent& a, const ImportedEvent& b) { return a.begin_ns < b.begin_ns; };
    if (!std::is_sorted(track.events.begin(), track.events.end(), earlier))
        std::stable_sort(track.events.begin(), track.events.end(), earlier);
    bool whole = false;
    for (ImportedEvent event : track.events) {
        if (event.kind == Kind::begin) {
            event.depth = static_cast<std::uint8_t>(std::min(stack.size(), kMaxDepth));
            stack.push_back(event);
        } else if (event.kind == Kind::whole) {
            whole = true;
            done.push_back(event);
        } else if (stack.empty()) {
            skip("ends without a begin");
        } else {
            stack.back().end_ns = event.begin_ns;
            done.push_back(stack.back());
            stack.pop_back();
        }
    }
    for (const ImportedEvent& event : stack)
        if (event.depth < kMaxDepth)
            open.push_back({event.begin_ns, event.payload, track.info.track, event.name, event.depth});
    if (whole) nest(done);
    const auto deep = [](const ImportedEvent& e) { return e.depth >= kMaxDepth; };
    skip("spans nested too deep", static_cast<std::uint64_t>(std::count_if(done.begin(), done.end(), deep)));
    done.erase(std::remove_if(done.begin(), done.end(), deep), done.end());
    track.events = std::move(done);
}

// Whole spans say nothing of their depth: it follows from what surrounds them.
void ImportEvents::nest(std::vector<ImportedEvent>& spans) {
    std::stable_sort(spans.begin(), spans.end(), [](const ImportedEvent& a, const ImportedEvent& b) {
        return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
    std::vector<ImportedEvent> done, stack;
    std::uint64_t overlapping = 0;
    for (ImportedEvent span : spans) {
        const auto follows = [&](const ImportedEvent& outer) {
            return outer.end_ns <= span.begin_ns ||
                   (outer.end_ns < span.end_ns && outer.end_ns - span.begin_ns <= kRoundingNs);
        };
        for (; !stack.empty() && follows(stack.back()); stack.pop_back()) {
            span.begin_ns = std::max(span.begin_ns, stack.back().end_ns);
            done.push_back(stack.back());
        }
        overlapping += !stack.empty() && stack.back().end_ns < span.end_ns ? 1 : 0;
        span.depth = static_cast<std::uint8_t>(std::min(stack.size(), kMaxDepth));
        stack.push_back(span);
    }
    for (; !stack.empty(); stack.pop_back()) done.push_back(stack.back());
    if (overlapping > 0)
        note(fmt::format("{} spans overlap others of their track without lying inside; they are on deeper rows",
                         overlapping));
    spans = std::move(done);
}

void ImportEvents::deliver(TraceStore& store, const std::vector<Finished>& spans, TraceBatch& last) {
    std::unordered_map<std::uint64_t, Launch> launches;
    for (const Finished& f : spans)
        if (f.event.flow != 0 && tracks_[f.track].info.kind == TrackKind::thread)
            launches.try_emplace(f.event.flow, Launch{f.event.begin_ns, f.track, f.event.depth});
    TraceBatch batch;
    batch.pid = last.pid;
    batch.process_name = process_name;
    batch.read_ns = last.read_ns;
    batch.realtime_offset_ns = realtime_offset_ns;
    batch.names = std::move(names_);
    for (const Track& track : tracks_) batch.tracks.push_back(track.info);
    store.ingest(batch);
    batch.names.clear();
    batch.tracks.clear();
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < spans.size();) {
        batch.spans.clear();
        batch.device_spans.clear();
        for (const std::size_t stop = std::min(at + kPiece, spans.size()); at < stop; ++at) {
            const auto& [e, track] = spans[at];
            const SpanEvent span{e.begin_ns, e.end_ns, e.payload, track, e.name, e.depth, e.has_payload};
            if (tracks_[track].info.kind == TrackKind::thread) {
                batch.spans.push_back(span);
                continue;
            }
            const auto found = launches.find(e.flow);
            const Launch by = e.flow == 0 || found == launches.end() ? Launch{0, kNoTrack, 0} : found->second;
            batch.device_spans.push_back({span, by.begin_ns, ++number, by.track, by.depth});
        }
        store.ingest(batch);
    }
    store.ingest(last);
}

ImportSummary ImportEvents::finish(TraceStore& store) {
    ImportSummary summary;
    TraceBatch last;
    std::vector<Finished> spans;
    for (Track& track : tracks_) {
        pair(track, last.open);
        for (const ImportedEvent& e : track.events) spans.push_back({e, track.info.track});
        track.events = {};
        ++(track.info.kind == TrackKind::thread ? summary.threads : summary.streams);
    }
    // Stable: what a track finished at one time stays inner before outer.
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Finished& a, const Finished& b) { return a.event.end_ns < b.event.end_ns; });
    const auto by_time = [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; };
    std::stable_sort(points_.begin(), points_.end(), by_time);
    std::stable_sort(instants_.begin(), instants_.end(), by_time);
    summary.spans = spans.size();
    summary.instants = instants_.size();
    summary.points = points_.size();
    last.pid = tracks_.empty() ? 0 : tracks_.front().info.pid;
    last.process_name = process_name;
    last.realtime_offset_ns = realtime_offset_ns;
    last.loss.dropped = lost;
    last.written = spans.size();
    last.read_ns = read_ns != 0                                       ? read_ns
                   : !spans.empty() && spans.back().event.end_ns != 0 ? spans.back().event.end_ns
                                                                      : 1;
    last.counters = std::move(points_);
    last.instants = std::move(instants_);
    deliver(store, spans, last);
    for (const auto& [what, count] : skipped_)
        if (count > 0) {
            summary.skipped += count;
            summary.notes.push_back(fmt::format("skipped: {} {}", count, what));
        }
    summary.notes.insert(summary.notes.end(), notes_.begin(), notes_.end());
    return summary;
}

}  // namespace gs
