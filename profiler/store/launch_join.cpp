#include "profiler/store/launch_join.h"

#include <algorithm>

namespace gs {
namespace {

constexpr std::size_t kLaunchSlots = 65536;  ///< API calls by correlation; a power of two
constexpr std::size_t kMaxUnlaunched = 16384;
constexpr std::size_t kMaxCopiesOfCall =
    64;  ///< nodes of one graph that begin at the same nanosecond

std::uint16_t small(std::uint32_t value) {
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(value, 65535));
}

GpuWork details_of(const GpuWorkEvent& e) {
    return {e.correlation,
            e.bytes,
            e.queued_ns,
            e.submitted_ns,
            {e.grid[0], e.grid[1], e.grid[2]},
            {small(e.block[0]), small(e.block[1]), small(e.block[2])},
            small(e.registers),
            e.static_shared,
            e.dynamic_shared,
            e.local_per_thread,
            e.graph,
            e.kind,
            e.source,
            e.target,
            e.asynchronous};
}

}  // namespace

LaunchJoin::Process& LaunchJoin::process(std::uint32_t index) {
    if (processes_.size() <= index) processes_.resize(index + std::size_t{1});
    return processes_[index];
}

// GPU work never makes a frame of its own, not even under the name of one: it belongs to the frame
// that launched it.
void LaunchJoin::take(const TraceSource& source, const TraceBatch& batch, const TraceParts& parts) {
    const std::uint32_t of = source.process;
    stage_host(source, batch, parts);
    settle(parts, [&](std::uint32_t track, const StagedSpan& s) {
        if (s.correlation != 0)
            remember_launch(
                of, s.correlation,
                {s.span.begin_ns, track, static_cast<std::uint8_t>(s.row)},  // one of 64
                s.first_row > 0);
        if (parts.timeline.tracks()[track].kind == TrackKind::overlapping)
            parts.frames.take_overlapping(parts.timeline, parts.names, track, s.span);
    });
    stage_gpu_work(source, batch, parts);
    settle(parts, [&](std::uint32_t track, const StagedSpan& s) {
        parts.frames.take_gpu_call(parts.timeline, parts.names, track, s.span);
        if (s.launch.track != kNoTrack)
            take_launched(track, s.row, s.span, s.launch, parts);
        else if (s.correlation != 0)
            process(of).unlaunched.push_back({s.correlation, s.span.begin_ns, track, s.row});
    });
    works_.clear();
    process(of).unlaunched.keep_newest(kMaxUnlaunched);
    if (!batch.api_calls.empty()) find_late_launches(of, parts);
}

void LaunchJoin::stage(std::uint32_t track, const StagedSpan& span, Timeline& timeline) {
    if (track == kNoTrack) {
        timeline.count_misplaced();
        return;
    }
    if (staged_.size() <= track) staged_.resize(timeline.tracks().size());
    if (staged_[track].empty()) touched_.push_back(track);
    staged_[track].push_back(span);
}

template <class F>
void LaunchJoin::settle(const TraceParts& parts, F each) {
    for (const std::uint32_t track : touched_) {
        parts.timeline.settle(track, staged_[track], works_);
        for (const StagedSpan& s : staged_[track])
            if (s.row != StagedSpan::kNoRow) each(track, s);
        staged_[track].clear();
    }
    touched_.clear();
}

namespace {

/// The track of a thread's calls or overhead, made when there is none.
std::uint32_t track_beside(Timeline& timeline, std::uint32_t process, std::uint32_t pid,
                           std::uint32_t tid, TrackKind kind) {
    const std::uint32_t known = timeline.threads().find(process, tid, kind);
    if (known != kNoTrack) return known;
    const std::uint32_t made = timeline.add(process, pid, tid, kind);
    if (made == kNoTrack) return made;
    const std::uint32_t thread = timeline.threads().find(process, tid, TrackKind::thread);
    const std::string of =
        thread != kNoTrack ? timeline.tracks()[thread].name : "thread " + std::to_string(tid);
    timeline.track(made).name = (kind == TrackKind::api ? "CUDA calls of " : "overhead in ") + of;
    return made;
}

}  // namespace

/// API calls, overhead and ranges that may overlap: everything of the host that comes in any order.
void LaunchJoin::stage_host(const TraceSource& source, const TraceBatch& batch,
                            const TraceParts& parts) {
    const std::uint32_t of = source.process;
    for (const ApiCallEvent& e : batch.api_calls) {
        StagedSpan s{.span = {e.begin_ns, e.end_ns, e.result, source.name(e.name), e.result != 0},
                     .correlation = e.correlation,
                     .first_row = std::uint8_t{e.driver}};
        stage(track_beside(parts.timeline, of, batch.pid, e.tid, TrackKind::api), s,
              parts.timeline);
    }
    for (const OverheadEvent& e : batch.overheads) {
        StagedSpan s{.span = {e.begin_ns, e.end_ns, 0, parts.names.intern(name_of(e.kind))}};
        stage(track_beside(parts.timeline, of, batch.pid, e.tid, TrackKind::overhead), s,
              parts.timeline);
    }
    if (batch.async_spans.empty()) return;
    std::uint32_t& overlapping = process(of).overlapping;
    if (overlapping == kNoTrack) {
        overlapping = parts.timeline.add(of, batch.pid, 0, TrackKind::overlapping);
        if (overlapping != kNoTrack) parts.timeline.track(overlapping).name = "overlapping ranges";
    }
    for (const AsyncSpanEvent& e : batch.async_spans) {
        StagedSpan s{.span = source.span(e)};
        stage(overlapping, s, parts.timeline);
    }
}

/// Work that a stage timer measured: its stream, depth and launch are known.
void LaunchJoin::place_stage(const TraceSource& source, const GpuWorkEvent& e,
                             const TraceParts& parts) {
    const std::uint32_t index = source.track(e.track);
    if (index >= parts.timeline.tracks().size()) return;
    TraceTrack& track = parts.timeline.track(index);
    TraceSpan span = source.span(e);
    if (track.kind != TrackKind::gpu_stream || !parts.timeline.place(index, span, e.depth)) return;
    if (track.launches.size() <= e.depth) track.launches.resize(e.depth + std::size_t{1});
    const TraceLaunch launch{e.launch.time_ns, source.track(e.launch.track), e.launch.row};
    track.launches[e.depth].push_back(launch);
    parts.frames.take_gpu_call(parts.timeline, parts.names, index, span);
    if (launch.track != kNoTrack) take_launched(index, e.depth, span, launch, parts);
}

void LaunchJoin::stage_gpu_work(const TraceSource& source, const TraceBatch& batch,
                                const TraceParts& parts) {
    for (const GpuWorkEvent& e : batch.gpu_work) {
        if (e.kind == GpuWorkKind::stage) {
            place_stage(source, e, parts);
            continue;
        }
        const std::uint32_t name = e.name != 0
                                       ? source.name(e.name)
                                       : parts.names.intern(work_text(e.kind, e.source, e.target));
        StagedSpan s{.span = {e.begin_ns, e.end_ns, e.bytes, name, e.bytes != 0}};
        s.span.category = e.category;
        s.correlation = e.correlation;
        s.launch = find_launch(source.process, e.correlation);
        s.work = static_cast<std::uint32_t>(works_.size());
        works_.push_back(details_of(e));
        stage(stream_track(source.process, batch.pid, e, parts.timeline), s, parts.timeline);
    }
}

std::uint32_t LaunchJoin::stream_track(std::uint32_t of, std::uint32_t pid,
                                       const GpuWorkEvent& work, Timeline& timeline) {
    const auto [place, added] = process(of).streams.try_emplace(
        StreamKey{work.device, work.context, work.stream}, kNoTrack);
    if (!added) return place->second;
    const std::uint32_t index = timeline.add(of, pid, 0, TrackKind::gpu_stream);
    place->second = index;
    if (index == kNoTrack) return index;
    TraceTrack& track = timeline.track(index);
    track.device = work.device;
    track.context = work.context;
    track.stream = work.stream;
    track.name = "GPU " + std::to_string(work.device) + " stream " + std::to_string(work.stream);
    return index;
}

void LaunchJoin::remember_launch(std::uint32_t of, std::uint64_t correlation, const TraceLaunch& at,
                                 bool driver) {
    std::vector<LaunchSlot>& slots = process(of).launches;
    if (slots.empty()) slots.resize(kLaunchSlots);
    LaunchSlot& slot = slots[correlation % kLaunchSlots];
    if (slot.correlation == correlation && driver && !slot.driver)
        return;  // the runtime's call is the outer one
    slot = {correlation, at, driver};
}

TraceLaunch LaunchJoin::find_launch(std::uint32_t of, std::uint64_t correlation) const {
    if (correlation == 0 || of >= processes_.size() || processes_[of].launches.empty()) return {};
    const LaunchSlot& slot = processes_[of].launches[correlation % kLaunchSlots];
    return slot.correlation == correlation ? slot.at : TraceLaunch{};
}

void LaunchJoin::take_launched(std::uint32_t index, std::size_t row, const TraceSpan& span,
                               const TraceLaunch& launch, const TraceParts& parts) {
    TraceTrack& track = parts.timeline.track(index);
    track.newest_launch_ns = std::max(track.newest_launch_ns, launch.time_ns);
    parts.frames.take_launched(parts.timeline, parts.names, index, span, launch, row == 0);
}

void LaunchJoin::find_late_launches(std::uint32_t of, const TraceParts& parts) {
    SlidingArray<Unlaunched>& unlaunched = process(of).unlaunched;
    SlidingArray<Unlaunched> rest;
    for (const Unlaunched& work : unlaunched.view()) {
        const TraceLaunch launch = find_launch(of, work.correlation);
        if (launch.track == kNoTrack) {
            rest.push_back(work);
            continue;
        }
        TraceTrack& track = parts.timeline.track(work.track);
        if (work.row >= track.rows.size()) continue;
        const auto spans = track.rows[work.row].view();
        const auto works = track.works[work.row].view();
        auto at = static_cast<std::size_t>(
            std::lower_bound(spans.begin(), spans.end(), work.begin_ns,
                             [](const TraceSpan& s, std::int64_t t) { return s.begin_ns < t; }) -
            spans.begin());
        const std::size_t stop = std::min(spans.size(), at + kMaxCopiesOfCall);
        while (at < stop &&
               (works[at].correlation != work.correlation || spans[at].begin_ns != work.begin_ns))
            ++at;
        if (at >= stop) continue;  // forgotten meanwhile
        track.launches[work.row].items()[at] = launch;
        take_launched(work.track, work.row, spans[at], launch, parts);
    }
    if (rest.size() != unlaunched.size()) unlaunched = std::move(rest);
}

void LaunchJoin::end(std::uint32_t of) {
    if (of >= processes_.size()) return;
    processes_[of].launches = std::vector<LaunchSlot>();  // an empty list would keep the memory
    processes_[of].unlaunched = {};
}

void LaunchJoin::renumber(const Renumbering& to) {
    keep_those(processes_, to.process);
    staged_.clear();
    if (to.track.all_stay()) return;
    for (Process& process : processes_) {
        for (LaunchSlot& slot : process.launches) {
            slot.at.track = to.track(slot.at.track);
            if (slot.at.track == kNoTrack) slot = {};
        }
        for (Unlaunched& work : process.unlaunched.items()) work.track = to.track(work.track);
        process.unlaunched =
            filtered(process.unlaunched, [](const Unlaunched& w) { return w.track != kNoTrack; });
        for (auto& [stream, track] : process.streams) track = to.track(track);
        std::erase_if(process.streams, [](const auto& of) { return of.second == kNoTrack; });
        process.overlapping = to.track(process.overlapping);
    }
}

void LaunchJoin::clear() {
    for (Process& process : processes_) {
        process.launches.clear();
        process.unlaunched = {};
    }
}

std::size_t LaunchJoin::bytes() const {
    std::size_t total = 0;
    for (const Process& process : processes_)
        total += process.launches.capacity() * sizeof(LaunchSlot) + process.unlaunched.bytes();
    return total;
}

}  // namespace gs
