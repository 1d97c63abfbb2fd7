#include "profiler/files/import_events.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace gs {
namespace {

using Kind = ImportedEvent::Kind;
constexpr std::size_t kMaxTracks = 65536;
constexpr std::size_t kMaxDepth = 64;
/// Neighbours that overlap by no more than this do so because their times were rounded to
/// microseconds.
constexpr std::int64_t kRoundingNs = 1000;
/// Frames take what has ended inside them: the store gets spans in pieces of this many, in order of
/// their ends.
constexpr std::size_t kPiece = 1024;

/// What pairing found amiss.
struct Pairing {
    std::uint64_t ends_alone = 0, too_deep = 0, overlapping = 0;
};

/// Whole spans say nothing of their depth: it follows from what surrounds them. Returns how many
/// overlap others without lying inside.
std::uint64_t nest(std::vector<ImportedEvent>& spans) {
    std::stable_sort(
        spans.begin(), spans.end(), [](const ImportedEvent& a, const ImportedEvent& b) {
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
    spans = std::move(done);
    return overlapping;
}

/// Leaves finished spans only, in order of their ends, with depths.
Pairing pair(std::vector<ImportedEvent>& events, const TrackInfo& info,
             std::vector<OpenSpan>& open) {
    Pairing found;
    std::vector<ImportedEvent> done, stack;
    const auto earlier = [](const ImportedEvent& a, const ImportedEvent& b) {
        return a.begin_ns < b.begin_ns;
    };
    if (!std::is_sorted(events.begin(), events.end(), earlier))
        std::stable_sort(events.begin(), events.end(), earlier);
    bool whole = false;
    for (ImportedEvent event : events) {
        if (event.kind == Kind::begin) {
            event.depth = static_cast<std::uint8_t>(std::min(stack.size(), kMaxDepth));
            stack.push_back(event);
        } else if (event.kind == Kind::whole) {
            whole = true;
            done.push_back(event);
        } else if (stack.empty()) {
            ++found.ends_alone;
        } else {
            stack.back().end_ns = event.begin_ns;
            done.push_back(stack.back());
            stack.pop_back();
        }
    }
    for (const ImportedEvent& event : stack)
        if (event.depth < kMaxDepth)
            open.push_back({event.begin_ns, event.payload, info.track, event.name, event.depth});
    const bool nests = info.kind == TrackKind::thread || info.kind == TrackKind::gpu_stream;
    if (whole && nests) found.overlapping = nest(done);
    const auto deep = [](const ImportedEvent& e) { return e.depth >= kMaxDepth; };
    found.too_deep = static_cast<std::uint64_t>(std::count_if(done.begin(), done.end(), deep));
    done.erase(std::remove_if(done.begin(), done.end(), deep), done.end());
    events = std::move(done);
    return found;
}

/// Work of one stream that overlaps its successor by what rounding makes.
void trim(std::vector<GpuWorkEvent>& work) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, GpuWorkEvent*> last;
    for (GpuWorkEvent& w : work) {
        GpuWorkEvent*& before = last[{w.device, w.context, w.stream}];
        if (before != nullptr && before->end_ns > w.begin_ns &&
            before->end_ns - w.begin_ns < kRoundingNs)
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
    const Pairing found = pair(track.events, info, delivery.open);
    skip("ends without a begin", found.ends_alone);
    skip("spans nested too deep", found.too_deep);
    if (found.overlapping > 0)
        note(fmt::format(
            "{} spans overlap others of their track without lying inside; they are on deeper rows",
            found.overlapping));
    for (const ImportedEvent& e : track.events) switch (e.is_call ? TrackKind::api : info.kind) {
            case TrackKind::api:
                process(delivery.pid)
                    .calls.push_back({e.begin_ns, e.end_ns, e.flow, info.tid, e.name,
                                      static_cast<std::uint32_t>(e.payload), e.driver});
                break;
            case TrackKind::overlapping:
                delivery.asyncs.push_back({e.begin_ns, e.end_ns, e.payload, info.track, e.name,
                                           e.has_payload, e.payload_kind, e.category});
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
        if (track.info.pid != delivery.pid) continue;
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
    last.loss.dropped = process.lost;
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
        if (pid == main || main == 0 || process.declared || deliveries.contains(pid) ||
            !process.calls.empty() || !process.stacks.samples.empty()) {
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
        into.lost += process.lost;
    }
}

ImportSummary ImportEvents::finish(TraceStore& store) {
    ImportSummary summary;
    join_submissions();
    const std::uint32_t main = main_pid();
    std::map<std::uint32_t, Delivery> deliveries;
    for (Track& track : tracks_) {
        if (track.info.pid == 0) track.info.pid = main;
        Delivery& delivery = deliveries[track.info.pid];
        delivery.pid = track.info.pid;
        take_track(track, delivery);
        summary.streams += track.info.kind == TrackKind::gpu_stream ? 1 : 0;
        summary.threads += track.info.kind == TrackKind::thread ? 1 : 0;
    }
    for (InstantEvent& i : instants_)
        if (i.track < tracks_.size()) deliveries[tracks_[i.track].info.pid].instants.push_back(i);
    summary.instants = instants_.size();
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> streams;
    for (const auto& [pid, of] : processes_)
        for (const GpuWorkEvent& work : of.work)
            streams.insert({work.device, work.context, work.stream});
    adopt_devices(main, deliveries);
    if (main != 0) deliveries[main].pid = main;
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
        if (rounded_times) trim(process.work);
        summary.spans += delivery.spans.size() + delivery.asyncs.size() + delivery.overheads.size();
        summary.calls += process.calls.size();
        summary.work += process.work.size();
        summary.points += process.points.size();
        summary.samples += process.stacks.samples.size();
        deliver(store, delivery, process, ++source);
        ++summary.processes;
    }
    summary.streams += streams.size();
    for (const auto& [what, count] : skipped_)
        if (count > 0) {
            summary.skipped += count;
            summary.notes.push_back(fmt::format("skipped: {} {}", count, what));
        }
    summary.notes.insert(summary.notes.end(), notes_.begin(), notes_.end());
    return summary;
}

}  // namespace gs
