#include "profiler/files/import_delivery.h"
#include "base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "profiler/files/import_pairing.h"

namespace gs {
namespace {

constexpr std::uint32_t kFirstPid = 256;  ///< smaller ones may be numbers of devices
/// Frames take what has ended inside them: the store gets spans in pieces of this many, in order of
/// their ends.
constexpr std::size_t kPiece = 1024;
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

/// Work and the calls that launched it get the same number: the work's own where the file has one.
void ImportDelivery::join_submissions() {
    if (trace_.submissions.empty()) return;
    std::unordered_map<std::uint64_t, std::uint64_t> flow_of(trace_.submissions.begin(),
                                                             trace_.submissions.end()),
        number_of;
    for (const auto& [event, pid, index] : trace_.work_events) {
        const auto found = flow_of.find(event);
        if (found == flow_of.end()) continue;
        GpuWorkEvent& work = trace_.processes[pid].batch.gpu_work[index];
        if (work.correlation != 0)
            number_of.try_emplace(found->second, work.correlation);
        else
            work.correlation = found->second;
    }
    for (ImportedTrack& track : trace_.tracks)
        for (ImportedEvent& e : track.events)
            if (const auto found = number_of.find(e.flow); found != number_of.end())
                e.flow = found->second;
}

void ImportDelivery::take_track(ImportedTrack& track, Part& part, TraceBatch& batch) {
    const TrackInfo& info = track.info;
    const Pairing found = pair_events(track.events, info.kind, clock_.rounding_ns);
    if (found.ends_alone > 0) notes_.skip("ends without a begin", found.ends_alone);
    if (found.too_deep > 0) notes_.skip("spans nested too deep", found.too_deep);
    overlapping_ += found.overlapping;
    beside_ += found.beside.size();
    const auto async = [&](const ImportedEvent& e) {
        return AsyncSpanEvent{e.begin_ns, e.end_ns,      e.payload,      info.track,
                              e.name,     e.has_payload, e.payload_kind, e.category};
    };
    for (const ImportedEvent& e : found.beside)
        (e.not_ended ? part.open_asyncs : batch.async_spans).push_back(async(e));
    for (const ImportedEvent& e : found.open)
        if (info.kind == TrackKind::overlapping)
            part.open_asyncs.push_back(async(e));
        else
            batch.open.push_back({e.begin_ns, e.payload, info.track, e.name, e.depth, e.end_ns});
    for (const ImportedEvent& e : track.events) switch (e.is_call ? TrackKind::api : info.kind) {
            case TrackKind::api:
                batch.api_calls.push_back({e.begin_ns, e.end_ns, e.flow, info.tid, e.name,
                                           static_cast<std::uint32_t>(e.payload), e.driver});
                break;
            case TrackKind::overlapping:
                batch.async_spans.push_back(async(e));
                break;
            case TrackKind::overhead:
                batch.overheads.push_back(
                    {e.begin_ns, e.end_ns, info.tid,
                     enumerator<OverheadType>(trace_.names[e.name - 1].text)});
                break;
            default:
                part.spans.push_back({e, info.track});
        }
    track.events = {};
}

/// Ranges without an end are open to the end of their process: to the last that it did.
void ImportDelivery::close_open(Part& part, TraceBatch& batch) {
    if (batch.open.empty() && part.open_asyncs.empty()) return;
    constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    const auto ends = [&](const auto& items) {
        for (const auto& item : items) last = std::max(last, item.end_ns);
    };
    const auto moments = [&](const auto& items) {
        for (const auto& item : items) last = std::max(last, item.time_ns);
    };
    for (const Finished& f : part.spans) last = std::max(last, f.event.end_ns);
    ends(batch.async_spans);
    ends(batch.overheads);
    ends(batch.gpu_work);
    ends(batch.api_calls);
    ends(batch.syncs);
    moments(batch.instants);
    moments(batch.counters);
    moments(batch.samples);
    const auto begins = [&](const auto& items) {
        for (const auto& item : items)
            last = std::max(last, item.end_ns == kNoEnd ? item.begin_ns : item.end_ns);
    };
    begins(batch.open);
    begins(part.open_asyncs);
    for (OpenSpan& open : batch.open)
        if (open.end_ns == kNoEnd) open.end_ns = last;
    for (AsyncSpanEvent& open : part.open_asyncs) {
        if (open.end_ns == kNoEnd) open.end_ns = last;
        batch.async_spans.push_back(open);
    }
    if (!part.open_asyncs.empty())
        notes_.note(
            fmt::format("{} asynchronous ranges never end: they are shown to the end of their "
                        "process",
                        part.open_asyncs.size()));
    part.open_asyncs.clear();
}

/// The process that spans without one, and GPU work of a pid that is only a device's number, belong
/// to.
std::uint32_t ImportDelivery::main_pid() const {
    std::map<std::uint32_t, std::size_t> spans;
    for (const ImportedTrack& track : trace_.tracks)
        if (track.info.pid != 0) spans[track.info.pid] += track.events.size() + 1;
    for (const auto& [pid, process] : trace_.processes)
        if (pid != 0 && !process.batch.api_calls.empty())
            spans[pid] += process.batch.api_calls.size();
    std::uint32_t best = 0;
    std::size_t most = 0;
    for (const auto& [pid, count] : spans)
        if (count > most) {
            best = pid;
            most = count;
        }
    return best;
}

/// A pid without spans, calls or counters is no process but a device's number, as torch writes it:
/// its GPU work is the main one's.
void ImportDelivery::adopt_devices(std::uint32_t main) {
    for (auto& [pid, process] : trace_.processes) {
        if (pid == main || main == 0 || pid >= kFirstPid || process.declared ||
            parts_.contains(pid) || !process.batch.api_calls.empty() ||
            !process.batch.samples.empty() || (pid != 0 && !process.batch.counters.empty())) {
            if (process.empty() && !process.declared && !parts_.contains(pid) && pid != main)
                continue;  // only its name is known
            parts_.try_emplace(pid);
            continue;
        }
        trace_.process(main).take(process);
    }
}

/// Pairs and nests the events of all tracks, by process.
void ImportDelivery::take_tracks(std::uint32_t main) {
    std::map<std::uint32_t, std::size_t> expected;  // spans by process, about
    for (ImportedTrack& track : trace_.tracks) {
        if (track.joined) continue;
        if (track.info.pid == 0) track.info.pid = main;
        const std::size_t whole =
            track.events.empty() || track.events.front().kind == ImportedEvent::Kind::whole
                ? track.events.size()
                : track.events.size() / 2;
        expected[track.info.pid] += whole;
    }
    for (const auto& [pid, spans] : expected) trace_.process(pid);
    for (ImportedTrack& track : trace_.tracks) {
        if (track.joined) continue;
        Part& part = parts_[track.info.pid];
        part.spans.reserve(expected[track.info.pid]);
        take_track(track, part, trace_.process(track.info.pid).batch);
        summary_.streams += track.info.kind == TrackKind::gpu_stream ? 1 : 0;
        summary_.threads += track.info.kind == TrackKind::thread ? 1 : 0;
    }
}

/// Moves the file's times to those of the store it goes into, by the wall clock and the shift that
/// was asked for.
void ImportDelivery::shift(TraceStore& store) {
    if (store.processes().empty()) return;
    if (!clock_.realtime_offset_ns)
        notes_.note("the file has no wall-clock time: it is shown at its own times, unaligned");
    const std::int64_t by = clock_.realtime_offset_ns
                                ? *clock_.realtime_offset_ns - store.sources().realtime_offset_ns()
                                : 0;
    if (std::abs(by) > kMaxImportTime)
        return notes_.note("the wall clocks are too far apart to be aligned");
    const auto move = [by, &shift = options_.shift](std::int64_t& t) {
        t += by;
        // The drift counts by the store's clock, which shows offset_ns less than the file's.
        const double since =
            (static_cast<double>(t - shift.at_ns) - shift.offset_ns) / (1 + shift.drift);
        t -= std::llround(shift.offset_ns + shift.drift * since);
    };
    const auto both = [move](auto& items) {
        for (auto& item : items) {
            move(item.begin_ns);
            move(item.end_ns);
        }
    };
    const auto moment = [move](auto& items) {
        for (auto& item : items) move(item.time_ns);
    };
    for (auto& [pid, part] : parts_) {
        for (Finished& f : part.spans) {
            move(f.event.begin_ns);
            move(f.event.end_ns);
        }
        TraceBatch& batch = trace_.processes[pid].batch;
        both(batch.open);
        both(batch.async_spans);
        both(batch.overheads);
        both(batch.gpu_work);
        for (GpuWorkEvent& work : batch.gpu_work) {
            if (work.queued_ns != 0) move(work.queued_ns);
            if (work.submitted_ns != 0) move(work.submitted_ns);
        }
        both(batch.api_calls);
        both(batch.syncs);
        both(batch.pauses);
        moment(batch.instants);
        moment(batch.memory);
        moment(batch.counters);
        moment(batch.samples);
    }
    if (clock_.read_ns != 0) move(clock_.read_ns);
    clock_.realtime_offset_ns = store.sources().realtime_offset_ns();
}

/// Of all ranges of threads, in order of their begins.
std::vector<RangeValueEvent> ImportDelivery::values_of(const Part& part) const {
    std::vector<RangeValueEvent> out;
    for (const Finished& f : part.spans) {
        if (f.event.values == 0 || trace_.tracks[f.track].info.kind != TrackKind::thread) continue;
        for (RangeValueEvent value : trace_.values[f.event.values - 1]) {
            value.begin_ns = f.event.begin_ns;
            value.track = f.track;
            value.depth = f.event.depth;
            out.push_back(value);
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
        return std::tie(a.begin_ns, a.depth) < std::tie(b.begin_ns, b.depth);
    });
    return out;
}

/// Puts everything of a process into order of time.
void ImportDelivery::sort(Part& part, TraceBatch& batch) const {
    const auto by_time = [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; };
    const auto by_begin = [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; };
    const auto by_end = [](const auto& a, const auto& b) { return a.end_ns < b.end_ns; };
    // Stable: what a track finished at one time stays inner before outer.
    std::stable_sort(
        part.spans.begin(), part.spans.end(),
        [](const Finished& a, const Finished& b) { return a.event.end_ns < b.event.end_ns; });
    std::stable_sort(batch.counters.begin(), batch.counters.end(), by_time);
    std::stable_sort(batch.memory.begin(), batch.memory.end(), by_time);
    std::stable_sort(batch.samples.begin(), batch.samples.end(), by_time);
    std::stable_sort(batch.instants.begin(), batch.instants.end(), by_time);
    std::stable_sort(batch.gpu_work.begin(), batch.gpu_work.end(), by_begin);
    std::stable_sort(batch.syncs.begin(), batch.syncs.end(), by_begin);
    std::stable_sort(batch.api_calls.begin(), batch.api_calls.end(), by_end);
    if (clock_.rounding_ns > 0) trim(batch.gpu_work, clock_.rounding_ns);
}

void ImportDelivery::count(const Part& part, const TraceBatch& batch) {
    summary_.spans += part.spans.size() + batch.async_spans.size() + batch.overheads.size();
    summary_.open += batch.open.size();
    summary_.calls += batch.api_calls.size();
    summary_.work += batch.gpu_work.size();
    summary_.points += batch.counters.size();
    summary_.samples += batch.samples.size();
    ++summary_.processes;
}

/// Spans, calls and GPU work, in order of the times they are due.
void ImportDelivery::deliver_pieces(TraceStore& store, TraceBatch batch,
                                    const std::vector<Finished>& spans,
                                    const std::vector<ApiCallEvent>& calls,
                                    const std::vector<GpuWorkEvent>& works) const {
    std::unordered_map<std::uint64_t, TraceLaunch> launches;
    for (const auto& [e, track] : spans)
        if (e.flow != 0 && trace_.tracks[track].info.kind == TrackKind::thread)
            launches.try_emplace(e.flow, TraceLaunch{e.begin_ns, track, e.depth});
    std::vector<std::int64_t> due;
    due.reserve(spans.size() + calls.size() + works.size());
    for (const Finished& f : spans) due.push_back(f.event.end_ns);
    for (const ApiCallEvent& one : calls) due.push_back(one.end_ns);
    for (const GpuWorkEvent& one : works) due.push_back(one.begin_ns);
    std::uint64_t number = 0;
    auto span = spans.begin();
    auto call = calls.begin();
    auto work = works.begin();
    for (const std::int64_t cut : cuts_of(std::move(due))) {
        batch.spans.clear();
        batch.api_calls.clear();
        batch.gpu_work.clear();
        for (; span != spans.end() && span->event.end_ns <= cut; ++span) {
            const auto& [e, track] = *span;
            const SpanEvent event{e.begin_ns, e.end_ns,      e.payload,      track,     e.name,
                                  e.depth,    e.has_payload, e.payload_kind, e.category};
            if (trace_.tracks[track].info.kind == TrackKind::thread) {
                batch.spans.push_back(event);
                continue;
            }
            const auto launch = e.flow != 0 ? launches.find(e.flow) : launches.end();
            batch.gpu_work.push_back(stage_work(
                event, launch != launches.end() ? launch->second : TraceLaunch{}, ++number));
        }
        for (; call != calls.end() && call->end_ns <= cut; ++call) batch.api_calls.push_back(*call);
        for (; work != works.end() && work->begin_ns <= cut; ++work)
            batch.gpu_work.push_back(*work);
        store.ingest(batch);
    }
}

/// `rest`: all of a process but its spans; what does not come in pieces comes last.
void ImportDelivery::deliver(TraceStore& store, const Part& part, TraceBatch rest) const {
    TraceBatch head{.labels = rest.labels,
                    .source = rest.source,
                    .pid = rest.pid,
                    .process_name = rest.process_name,
                    .read_ns = rest.read_ns,
                    .realtime_offset_ns = rest.realtime_offset_ns};
    TraceBatch first = head;
    first.names = trace_.names;
    for (const ImportedTrack& track : trace_.tracks)
        if (track.info.pid == rest.pid && !track.joined &&
            (track.info.kind == TrackKind::thread || track.info.kind == TrackKind::gpu_stream))
            first.tracks.push_back(track.info);
    first.devices = std::exchange(rest.devices, {});
    first.values = values_of(part);
    store.ingest(first);
    rest.written = part.spans.size() + rest.api_calls.size() + rest.gpu_work.size();
    deliver_pieces(store, std::move(head), part.spans, std::exchange(rest.api_calls, {}),
                   std::exchange(rest.gpu_work, {}));
    rest.read_ns = std::max(rest.read_ns, store.end_ns());
    store.ingest(rest);
}

ImportSummary ImportDelivery::deliver(TraceStore& store) {
    join_submissions();
    const std::uint32_t main = main_pid();
    take_tracks(main);
    for (const InstantEvent& i : trace_.instants)
        if (i.track < trace_.tracks.size()) {
            const std::uint32_t pid = trace_.tracks[i.track].info.pid;
            parts_.try_emplace(pid);
            trace_.process(pid).batch.instants.push_back(i);
        }
    summary_.instants = trace_.instants.size();
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> streams;
    for (const auto& [pid, of] : trace_.processes)
        for (const GpuWorkEvent& work : of.batch.gpu_work)
            streams.insert({work.device, work.context, work.stream});
    summary_.streams += streams.size();
    adopt_devices(main);
    if (main != 0) parts_.try_emplace(main);
    for (auto& [pid, part] : parts_) close_open(part, trace_.process(pid).batch);
    shift(store);
    std::uint64_t source = (std::uint64_t{store.processes().size()} + 1) << 32;
    for (const std::uint32_t pid : trace_.order) {
        const auto part = parts_.find(pid);
        if (part == parts_.end()) continue;
        TraceBatch batch = std::move(trace_.processes[pid].batch);
        batch.pid = pid;
        batch.source = ++source;
        if (!options_.shift.text.empty()) batch.labels.clock = options_.shift.text;
        batch.read_ns = clock_.read_ns != 0 ? clock_.read_ns : 1;
        batch.realtime_offset_ns = clock_.realtime_offset_ns.value_or(0);
        sort(part->second, batch);
        count(part->second, batch);
        deliver(store, part->second, std::move(batch));
    }
    notes_.summarize(summary_, own_notes());
    return std::move(summary_);
}

std::vector<std::string> ImportDelivery::own_notes() const {
    std::vector<std::string> out;
    if (overlapping_ > 0)
        out.push_back(counted(overlapping_, "span", "overlap") +
                      " others of the track in part: on separate rows");
    if (beside_ > 0)
        out.push_back(
            counted(beside_, "span", "overlap") +
            fmt::format(" more than {} others: on the process's track of overlapping ranges",
                        kImportRows));
    if (summary_.open > 0)
        out.push_back(counted(summary_.open, "range", "have") +
                      " no end: shown open to the end of the process");
    return out;
}

}  // namespace gs
