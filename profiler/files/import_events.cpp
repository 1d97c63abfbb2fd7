#include "profiler/files/import_events.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "profiler/files/free_memory.h"
#include "profiler/files/import_pairing.h"

namespace gs {
namespace {

constexpr std::size_t kMaxTracks = 65536;
constexpr std::uint32_t kFirstPid = 256;  ///< smaller ones may be numbers of devices
/// Frames take what has ended inside them: the store gets spans in pieces of this many, in order of
/// their ends.
constexpr std::size_t kPiece = 1024;
/// What an event takes at most until it is in the store, there included.
constexpr std::size_t kBytesPerEvent = 256;

/// Work of one stream that overlaps its successor by what rounding makes.
void trim(std::vector<GpuWorkEvent>& work, std::int64_t rounding_ns) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, GpuWorkEvent*> last;
    for (GpuWorkEvent& w : work) {
        GpuWorkEvent*& before = last[{w.device, w.context, w.stream}];
        if (before != nullptr && before->end_ns > w.begin_ns &&
            before->end_ns - w.begin_ns < rounding_ns)
            before->end_ns = std::max(before->begin_ns, w.begin_ns);
        before = &w;
    }
}

/// Ends of the pieces a process is handed over in, from when each of its events is due.
std::vector<std::int64_t> cuts_of(std::vector<std::int64_t> times) {
    std::sort(times.begin(), times.end());
    std::vector<std::int64_t> cuts;
    for (std::size_t i = kPiece; i < times.size(); i += kPiece) cuts.push_back(times[i - 1]);
    cuts.push_back(std::numeric_limits<std::int64_t>::max());
    return cuts;
}

}  // namespace

std::uint32_t ImportEvents::add_track() {
    if (tracks_.size() >= kMaxTracks) return kNoTrack;
    tracks_.emplace_back();
    tracks_.back().info.track = static_cast<std::uint32_t>(tracks_.size() - 1);
    return tracks_.back().info.track;
}

std::uint32_t ImportEvents::name(std::string_view text, std::string_view domain) {
    const auto next = static_cast<std::uint32_t>(names_.size() + 1);
    std::string key(text);
    if (!domain.empty()) key.append(1, '\x1f').append(domain);
    const auto [place, added] = id_of_name_.try_emplace(std::move(key), next);
    if (added) names_.push_back({next, std::string(text), std::string(domain)});
    return place->second;
}

std::uint8_t ImportEvents::category(std::string_view text, std::string_view domain) {
    constexpr std::size_t kMost = 255;
    if (categories_.size() >= kMost) return 0;
    const auto number = static_cast<std::uint8_t>(categories_.size() + 1);
    const auto [place, added] =
        categories_.try_emplace({std::string(text), std::string(domain)}, number);
    if (added) {
        const auto id = static_cast<std::uint32_t>(names_.size() + 1);
        names_.push_back({id, std::string(text), std::string(domain), 0, number});
    }
    return place->second;
}

ImportEvents::ImportEvents(const ImportOptions& options)
    : options_(options), most_by_memory_(free_memory(options.max_bytes) / kBytesPerEvent) {}

bool ImportEvents::full() {
    const std::size_t most = std::min(options_.max_events, most_by_memory_);
    if (events_ < most) return ++events_, false;
    skip(fmt::format("events beyond the first {}{}", most,
                     most == most_by_memory_ ? ": not enough memory for more" : ""));
    return true;
}

void ImportEvents::add(std::uint32_t track, const ImportedEvent& event) {
    if (track >= tracks_.size())
        skip("events on tracks beyond the first " + std::to_string(kMaxTracks));
    else if (!full())
        tracks_[track].events.push_back(event);
}

std::uint32_t ImportEvents::add_values(std::vector<RangeValueEvent> values) {
    if (values.empty() || full()) return 0;
    values_.push_back(std::move(values));
    return static_cast<std::uint32_t>(values_.size());
}

void ImportEvents::add_instant(const InstantEvent& event) {
    if (!full()) instants_.push_back(event);
}

void ImportEvents::add_point(std::uint32_t pid, const CounterEvent& event) {
    if (!full()) process(pid).points.push_back(event);
}

void ImportEvents::add_work(std::uint32_t pid, const GpuWorkEvent& work, std::uint64_t event) {
    if (full()) return;
    std::vector<GpuWorkEvent>& all = process(pid).work;
    if (event != 0) work_events_.emplace_back(event, pid, all.size());
    all.push_back(work);
}

void ImportEvents::add_sample(std::uint32_t pid, SampleEvent sample,
                              std::span<const FrameEvent> frames) {
    if (full()) return;
    Process& of = process(pid);
    sample.stack = of.stack_builder.add(of.stacks, frames);
    of.stacks.samples.push_back(sample);
}

void ImportEvents::add_call(std::uint32_t pid, const ApiCallEvent& call) {
    if (!full()) process(pid).calls.push_back(call);
}

void ImportEvents::add_sync(std::uint32_t pid, const SyncEvent& sync) {
    if (!full()) process(pid).syncs.push_back(sync);
}

void ImportEvents::add_memory(std::uint32_t pid, const MemoryEvent& event) {
    if (!full()) process(pid).memory.push_back(event);
}

void ImportEvents::join(std::uint32_t track, std::uint32_t into) {
    Pairing found = pair_events(tracks_[track].events, TrackKind::overlapping, 0);
    if (found.ends_alone > 0) skip("ends without a begin", found.ends_alone);
    for (std::vector<ImportedEvent>* from : {&tracks_[track].events, &found.open})
        for (ImportedEvent& event : *from) {
            event.kind = ImportedEvent::Kind::whole;
            event.depth = 0;
            tracks_[into].events.push_back(event);
        }
    tracks_[track].events = {};
    tracks_[track].joined = true;
}

std::uint64_t ImportEvents::add_submission(const std::vector<std::uint64_t>& events) {
    constexpr std::uint64_t kFirst = 1ull << 62;  // far from the numbers that files give
    const std::uint64_t flow = kFirst + ++flows_;
    for (const std::uint64_t event : events) submissions_.emplace_back(event, flow);
    return flow;
}

/// Work and the calls that launched it get the same number: the work's own where the file has one.
void ImportEvents::join_submissions() {
    if (submissions_.empty()) return;
    std::unordered_map<std::uint64_t, std::uint64_t> flow_of(submissions_.begin(),
                                                             submissions_.end()),
        number_of;
    for (const auto& [event, pid, index] : work_events_) {
        const auto found = flow_of.find(event);
        if (found == flow_of.end()) continue;
        GpuWorkEvent& work = processes_[pid].work[index];
        if (work.correlation != 0)
            number_of.try_emplace(found->second, work.correlation);
        else
            work.correlation = found->second;
    }
    for (Track& track : tracks_)
        for (ImportedEvent& e : track.events)
            if (const auto found = number_of.find(e.flow); found != number_of.end())
                e.flow = found->second;
}

void ImportEvents::take_track(Track& track, Delivery& delivery) {
    const TrackInfo& info = track.info;
    const Pairing found = pair_events(track.events, info.kind, rounding_ns);
    if (found.ends_alone > 0) skip("ends without a begin", found.ends_alone);
    if (found.too_deep > 0) skip("spans nested too deep", found.too_deep);
    overlapping_ += found.overlapping;
    beside_ += found.beside.size();
    const auto async = [&](const ImportedEvent& e) {
        return AsyncSpanEvent{e.begin_ns, e.end_ns,      e.payload,      info.track,
                              e.name,     e.has_payload, e.payload_kind, e.category};
    };
    for (const ImportedEvent& e : found.beside) delivery.asyncs.push_back(async(e));
    for (const ImportedEvent& e : found.open)
        if (info.kind == TrackKind::overlapping)
            delivery.open_asyncs.push_back(async(e));
        else
            delivery.open.push_back({e.begin_ns, e.payload, info.track, e.name, e.depth, e.end_ns});
    for (const ImportedEvent& e : track.events) switch (e.is_call ? TrackKind::api : info.kind) {
            case TrackKind::api:
                process(delivery.pid)
                    .calls.push_back({e.begin_ns, e.end_ns, e.flow, info.tid, e.name,
                                      static_cast<std::uint32_t>(e.payload), e.driver});
                break;
            case TrackKind::overlapping:
                delivery.asyncs.push_back(async(e));
                break;
            case TrackKind::overhead:
                delivery.overheads.push_back({e.begin_ns, e.end_ns, info.tid,
                                              enumerator<OverheadType>(names_[e.name - 1].text)});
                break;
            default:
                delivery.spans.push_back({e, info.track});
        }
    track.events = {};
}

/// Ranges without an end are open to the end of their process: to the last that it did.
void ImportEvents::close_open(Delivery& delivery, const Process& process) {
    if (delivery.open.empty() && delivery.open_asyncs.empty()) return;
    constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    const auto ends = [&](const auto& items) {
        for (const auto& item : items) last = std::max(last, item.end_ns);
    };
    const auto moments = [&](const auto& items) {
        for (const auto& item : items) last = std::max(last, item.time_ns);
    };
    for (const Finished& f : delivery.spans) last = std::max(last, f.event.end_ns);
    ends(delivery.asyncs);
    ends(delivery.overheads);
    ends(process.work);
    ends(process.calls);
    ends(process.syncs);
    moments(delivery.instants);
    moments(process.points);
    moments(process.stacks.samples);
    const auto begins = [&](const auto& items) {
        for (const auto& item : items)
            last = std::max(last, item.end_ns == kNoEnd ? item.begin_ns : item.end_ns);
    };
    begins(delivery.open);
    begins(delivery.open_asyncs);
    for (OpenSpan& open : delivery.open)
        if (open.end_ns == kNoEnd) open.end_ns = last;
    for (AsyncSpanEvent& open : delivery.open_asyncs) {
        if (open.end_ns == kNoEnd) open.end_ns = last;
        delivery.asyncs.push_back(open);
    }
    if (!delivery.open_asyncs.empty())
        note(
            fmt::format("{} asynchronous ranges never end: they are shown to the end of their "
                        "process",
                        delivery.open_asyncs.size()));
    delivery.open_asyncs.clear();
}

/// The process that spans without one, and GPU work of a pid that is only a device's number, belong
/// to.
std::uint32_t ImportEvents::main_pid() const {
    std::map<std::uint32_t, std::size_t> spans;
    for (const Track& track : tracks_)
        if (track.info.pid != 0) spans[track.info.pid] += track.events.size() + 1;
    for (const auto& [pid, process] : processes_)
        if (pid != 0 && !process.calls.empty()) spans[pid] += process.calls.size();
    std::uint32_t best = 0;
    std::size_t most = 0;
    for (const auto& [pid, count] : spans)
        if (count > most) {
            best = pid;
            most = count;
        }
    return best;
}

TraceBatch ImportEvents::first_batch(const Delivery& delivery, Process& process,
                                     std::uint64_t source) const {
    TraceBatch batch;
    batch.source = source;
    batch.pid = delivery.pid;
    batch.process_name = process.name;
    batch.labels = process.labels;
    if (!options_.shift.text.empty()) batch.labels.clock = options_.shift.text;
    batch.read_ns = read_ns != 0 ? read_ns : 1;
    batch.realtime_offset_ns = realtime_offset_ns.value_or(0);
    batch.names = names_;
    for (const Track& track : tracks_) {
        if (track.info.pid != delivery.pid || track.joined) continue;
        if (track.info.kind == TrackKind::thread || track.info.kind == TrackKind::gpu_stream)
            batch.tracks.push_back(track.info);
    }
    batch.devices = std::move(process.devices);
    return batch;
}

void ImportEvents::deliver(TraceStore& store, Delivery& delivery, Process& process,
                           std::uint64_t source) {
    std::unordered_map<std::uint64_t, TraceLaunch> launches;
    for (const Finished& f : delivery.spans)
        if (f.event.flow != 0 && tracks_[f.track].info.kind == TrackKind::thread)
            launches.try_emplace(f.event.flow,
                                 TraceLaunch{f.event.begin_ns, f.track, f.event.depth});
    TraceBatch batch = first_batch(delivery, process, source);
    batch.values = values_of(delivery);
    store.ingest(batch);
    batch.names.clear();
    batch.values.clear();
    batch.tracks.clear();
    batch.devices.clear();
    std::vector<std::int64_t> due;
    due.reserve(delivery.spans.size() + process.calls.size() + process.work.size());
    for (const Finished& f : delivery.spans) due.push_back(f.event.end_ns);
    for (const ApiCallEvent& one : process.calls) due.push_back(one.end_ns);
    for (const GpuWorkEvent& one : process.work) due.push_back(one.begin_ns);
    std::uint64_t number = 0;
    std::size_t span = 0, call = 0, work = 0;
    for (const std::int64_t cut : cuts_of(std::move(due))) {
        batch.spans.clear();
        batch.api_calls.clear();
        batch.gpu_work.clear();
        for (; span < delivery.spans.size() && delivery.spans[span].event.end_ns <= cut; ++span) {
            const auto& [e, track] = delivery.spans[span];
            const SpanEvent event{e.begin_ns, e.end_ns,      e.payload,      track,     e.name,
                                  e.depth,    e.has_payload, e.payload_kind, e.category};
            if (tracks_[track].info.kind == TrackKind::thread) {
                batch.spans.push_back(event);
                continue;
            }
            const auto found = launches.find(e.flow);
            const bool told = e.flow != 0 && found != launches.end();
            batch.gpu_work.push_back(
                stage_work(event, told ? found->second : TraceLaunch{}, ++number));
        }
        for (; call < process.calls.size() && process.calls[call].end_ns <= cut; ++call)
            batch.api_calls.push_back(process.calls[call]);
        for (; work < process.work.size() && process.work[work].begin_ns <= cut; ++work)
            batch.gpu_work.push_back(process.work[work]);
        store.ingest(batch);
    }
    TraceBatch last = first_batch(delivery, process, source);
    last.names.clear();
    last.tracks.clear();
    last.loss = process.loss;
    last.service = process.service;
    last.written = delivery.spans.size() + process.calls.size() + process.work.size();
    last.read_ns = std::max({batch.read_ns, read_ns, store.end_ns()});
    last.async_spans = std::move(delivery.asyncs);
    last.overheads = std::move(delivery.overheads);
    last.open = std::move(delivery.open);
    last.instants = std::move(delivery.instants);
    last.counters = std::move(process.points);
    last.syncs = std::move(process.syncs);
    last.memory = std::move(process.memory);
    last.pauses = std::move(process.pauses);
    last.frames = std::move(process.stacks.frames);
    last.stacks = std::move(process.stacks.stacks);
    last.samples = std::move(process.stacks.samples);
    store.ingest(last);
}

/// A pid without spans or calls is no process but a device's number, as torch writes it: what it
/// has is the main one's.
void ImportEvents::adopt_devices(std::uint32_t main,
                                 std::map<std::uint32_t, Delivery>& deliveries) {
    const auto adopt = [](auto& into, auto& from) {
        into.insert(into.end(), std::make_move_iterator(from.begin()),
                    std::make_move_iterator(from.end()));
        from.clear();
    };
    for (auto& [pid, process] : processes_) {
        if (pid == main || main == 0 || pid >= kFirstPid || process.declared ||
            deliveries.contains(pid) || !process.calls.empty() || !process.stacks.samples.empty()) {
            if (process.empty() && !process.declared && !deliveries.contains(pid) && pid != main)
                continue;  // only its name is known
            deliveries[pid].pid = pid;
            continue;
        }
        Process& into = this->process(main);
        adopt(into.work, process.work);
        adopt(into.syncs, process.syncs);
        adopt(into.memory, process.memory);
        adopt(into.points, process.points);
        adopt(into.devices, process.devices);
        if (into.name.empty()) into.name = process.name;
        if (into.labels.empty()) into.labels = process.labels;
    }
}

/// Pairs and nests the events of all tracks, by process.
void ImportEvents::take_tracks(std::uint32_t main, std::map<std::uint32_t, Delivery>& deliveries,
                               ImportSummary& summary) {
    std::map<std::uint32_t, std::size_t> expected;  // spans by process, about
    for (Track& track : tracks_) {
        if (track.joined) continue;
        if (track.info.pid == 0) track.info.pid = main;
        const std::size_t whole =
            track.events.empty() || track.events.front().kind == ImportedEvent::Kind::whole
                ? track.events.size()
                : track.events.size() / 2;
        expected[track.info.pid] += whole;
    }
    for (Track& track : tracks_) {
        if (track.joined) continue;
        Delivery& delivery = deliveries[track.info.pid];
        delivery.pid = track.info.pid;
        delivery.spans.reserve(expected[delivery.pid]);
        take_track(track, delivery);
        summary.streams += track.info.kind == TrackKind::gpu_stream ? 1 : 0;
        summary.threads += track.info.kind == TrackKind::thread ? 1 : 0;
    }
}

ImportSummary ImportEvents::finish(TraceStore& store) {
    ImportSummary summary;
    join_submissions();
    const std::uint32_t main = main_pid();
    std::map<std::uint32_t, Delivery> deliveries;
    take_tracks(main, deliveries, summary);
    for (InstantEvent& i : instants_)
        if (i.track < tracks_.size()) deliveries[tracks_[i.track].info.pid].instants.push_back(i);
    summary.instants = instants_.size();
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> streams;
    for (const auto& [pid, of] : processes_)
        for (const GpuWorkEvent& work : of.work)
            streams.insert({work.device, work.context, work.stream});
    adopt_devices(main, deliveries);
    if (main != 0) deliveries[main].pid = main;
    for (auto& [pid, delivery] : deliveries) close_open(delivery, process(pid));
    shift(store, deliveries);
    const auto by_time = [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; };
    const auto by_begin = [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; };
    const auto by_end = [](const auto& a, const auto& b) { return a.end_ns < b.end_ns; };
    std::uint64_t source = (std::uint64_t{store.processes().size()} + 1) << 32;
    for (const auto& [pid, delivery] : deliveries) process(pid);
    for (const std::uint32_t pid : order_) {
        if (!deliveries.contains(pid)) continue;
        Delivery& delivery = deliveries[pid];
        Process& process = processes_[pid];
        // Stable: what a track finished at one time stays inner before outer.
        std::stable_sort(
            delivery.spans.begin(), delivery.spans.end(),
            [](const Finished& a, const Finished& b) { return a.event.end_ns < b.event.end_ns; });
        std::stable_sort(process.points.begin(), process.points.end(), by_time);
        std::stable_sort(process.memory.begin(), process.memory.end(), by_time);
        std::stable_sort(process.stacks.samples.begin(), process.stacks.samples.end(), by_time);
        std::stable_sort(delivery.instants.begin(), delivery.instants.end(), by_time);
        std::stable_sort(process.work.begin(), process.work.end(), by_begin);
        std::stable_sort(process.syncs.begin(), process.syncs.end(), by_begin);
        std::stable_sort(process.calls.begin(), process.calls.end(), by_end);
        if (rounding_ns > 0) trim(process.work, rounding_ns);
        summary.spans += delivery.spans.size() + delivery.asyncs.size() + delivery.overheads.size();
        summary.open += delivery.open.size();
        summary.calls += process.calls.size();
        summary.work += process.work.size();
        summary.points += process.points.size();
        summary.samples += process.stacks.samples.size();
        deliver(store, delivery, process, ++source);
        ++summary.processes;
    }
    summary.streams += streams.size();
    summarize(summary);
    return summary;
}

void ImportEvents::summarize(ImportSummary& summary) const {
    summary.cut = cut_;
    for (const auto& [what, of] : skipped_) {
        summary.skipped += of.count;
        summary.lost += of.missed ? of.count : 0;
        summary.notes.push_back(fmt::format("skipped: {} {}", of.count, what));
        if (of.byte) summary.notes.back() += fmt::format(" (the first at byte {})", *of.byte);
    }
    if (overlapping_ > 0)
        summary.notes.push_back(
            fmt::format("{} spans overlap others of their track in part; they are on separate rows",
                        overlapping_));
    if (beside_ > 0)
        summary.notes.push_back(
            fmt::format("{} of them overlap more than {} others: they are on their process's track "
                        "of overlapping ranges",
                        beside_, kImportRows));
    if (summary.open > 0)
        summary.notes.push_back(fmt::format(
            "{} ranges never end: they are shown open to the end of their process", summary.open));
    summary.notes.insert(summary.notes.end(), notes_.begin(), notes_.end());
}

}  // namespace gs
