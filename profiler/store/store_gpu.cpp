// TraceStore's GPU side. A stream that a stage timer measured knows the range that launched its
// work. What CUPTI tells knows a number only, its correlation with an API call; calls and work come
// in any order, so the newest calls are kept by that number, and work that came before its call
// waits.
#include <algorithm>

#include "profiler/store/store.h"

namespace gs {
namespace {

constexpr std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }
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

// GPU work never makes a frame of its own, not even under the name of one: it belongs to the frame
// that launched it.
void TraceStore::take_device_span(std::uint32_t track_index, const TraceSpan& span,
                                  std::uint8_t depth, const TraceLaunch& launch) {
    TraceSpan kept = span;
    if (!place_span(track_index, kept, depth)) return;
    TraceTrack& track = tracks_[track_index];
    process_states_[track.process].times_itself = true;
    if (track.launches.size() <= depth) track.launches.resize(depth + std::size_t{1});
    track.launches[depth].push_back(launch);
    const Stage of = stage(kept.name);
    take_call(gpu_calls_[index(of)], track_index, kept);
    if (launch.track == kNoTrack) return;
    track.newest_launch_ns = std::max(track.newest_launch_ns, launch.time_ns);
    const auto ms = static_cast<float>(static_cast<double>(span.length_ns()) * 1e-6);
    count_for_frames({launch.time_ns, ms, track_index, launch.track, of, depth == 0, false});
}

void TraceStore::take_activity(Source& source, const TraceBatch& batch) {
    const auto settle_all = [this](auto each) {
        for (const std::uint32_t track : touched_) {
            settle(track);
            for (const Staged& s : track_states_[track].staged)
                if (s.row != kNoRow) each(track, s);
            track_states_[track].staged.clear();
        }
        touched_.clear();
    };
    const std::uint32_t process = source.process;
    stage_host(source, batch);
    settle_all([&](std::uint32_t track, const Staged& s) {
        if (s.correlation != 0)
            remember_launch(process, s.correlation, {s.span.begin_ns, track, s.row},
                            s.first_row > 0);
    });
    stage_gpu_work(source, batch);
    settle_all([&](std::uint32_t track, const Staged& s) {
        if (!process_states_[process].times_itself)
            take_call(gpu_calls_[index(gpu_stage(s.span.name))], track, s.span);
        if (s.launch.track != kNoTrack)
            take_launched(track, s.row, s.span, s.launch);
        else if (s.correlation != 0)
            process_states_[process].unlaunched.push_back(
                {s.correlation, s.span.begin_ns, track, s.row});
    });
    staged_works_.clear();
    process_states_[process].unlaunched.keep_newest(kMaxUnlaunched);
    if (!batch.api_calls.empty()) find_late_launches(process);
}

/// API calls, overhead and ranges that may overlap: everything of the host that comes in any order.
void TraceStore::stage_host(Source& source, const TraceBatch& batch) {
    for (const ApiCallEvent& e : batch.api_calls) {
        const std::uint32_t track = tid_track(source.process, e.tid, TrackKind::api);
        Staged s;
        s.span = {e.begin_ns, e.end_ns, e.result, name_in(source, e.name), e.result != 0};
        s.correlation = e.correlation;
        s.first_row = e.driver ? 1 : 0;
        stage_span(track, s);
    }
    for (const OverheadEvent& e : batch.overheads) {
        const std::uint32_t track = tid_track(source.process, e.tid, TrackKind::overhead);
        Staged s;
        s.span = {e.begin_ns, e.end_ns, 0, intern(name_of(e.kind))};
        stage_span(track, s);
    }
    if (batch.async_spans.empty()) return;
    std::uint32_t& overlapping = process_states_[source.process].overlapping;
    if (overlapping == kNoTrack) {
        overlapping = add_track(source.process, 0, TrackKind::overlapping);
        if (overlapping != kNoTrack) tracks_[overlapping].name = "overlapping ranges";
    }
    for (const AsyncSpanEvent& e : batch.async_spans) {
        Staged s;
        s.span = {e.begin_ns,    e.end_ns,       e.payload, name_in(source, e.name),
                  e.has_payload, e.payload_kind, e.category};
        stage_span(overlapping, s);
    }
}

void TraceStore::stage_gpu_work(Source& source, const TraceBatch& batch) {
    for (const GpuWorkEvent& e : batch.gpu_work) {
        Staged s;
        s.span = {e.begin_ns, e.end_ns, e.bytes, work_name(source, e), e.bytes != 0};
        s.correlation = e.correlation;
        s.launch = find_launch(source.process, e.correlation);
        s.work = static_cast<std::uint32_t>(staged_works_.size());
        staged_works_.push_back(details_of(e));
        stage_span(stream_track(source.process, e), s);
    }
}

std::uint32_t TraceStore::work_name(const Source& source, const GpuWorkEvent& work) {
    return work.name != 0 ? name_in(source, work.name)
                          : intern(work_text(work.kind, work.source, work.target));
}

std::uint32_t TraceStore::stream_track(std::uint32_t process, const GpuWorkEvent& work) {
    ProcessState& state = process_states_[process];
    const auto [place, added] =
        state.streams.try_emplace(StreamKey{work.device, work.context, work.stream}, kNoTrack);
    if (!added) return place->second;
    const std::uint32_t index = add_track(process, 0, TrackKind::gpu_stream);
    place->second = index;
    if (index == kNoTrack) return index;
    TraceTrack& track = tracks_[index];
    track.device = work.device;
    track.context = work.context;
    track.stream = work.stream;
    track.name = "GPU " + std::to_string(work.device) + " stream " + std::to_string(work.stream);
    return index;
}

void TraceStore::remember_launch(std::uint32_t process, std::uint64_t correlation,
                                 const TraceLaunch& at, bool driver) {
    std::vector<LaunchSlot>& slots = process_states_[process].launches;
    if (slots.empty()) slots.resize(kLaunchSlots);
    LaunchSlot& slot = slots[correlation % kLaunchSlots];
    if (slot.correlation == correlation && driver && !slot.driver)
        return;  // the runtime's call is the outer one
    slot = {correlation, at, driver};
}

TraceLaunch TraceStore::find_launch(std::uint32_t process, std::uint64_t correlation) const {
    const std::vector<LaunchSlot>& slots = process_states_[process].launches;
    if (correlation == 0 || slots.empty()) return {};
    const LaunchSlot& slot = slots[correlation % kLaunchSlots];
    return slot.correlation == correlation ? slot.at : TraceLaunch{};
}

void TraceStore::take_launched(std::uint32_t track_index, std::size_t row, const TraceSpan& span,
                               const TraceLaunch& launch) {
    TraceTrack& track = tracks_[track_index];
    track.newest_launch_ns = std::max(track.newest_launch_ns, launch.time_ns);
    if (process_states_[track.process].times_itself) return;
    const auto ms = static_cast<float>(static_cast<double>(span.length_ns()) * 1e-6);
    count_for_frames(
        {launch.time_ns, ms, track_index, launch.track, gpu_stage(span.name), row == 0, true});
}

void TraceStore::find_late_launches(std::uint32_t process) {
    SlidingArray<Unlaunched>& unlaunched = process_states_[process].unlaunched;
    SlidingArray<Unlaunched> rest;
    for (const Unlaunched& work : unlaunched.view()) {
        const TraceLaunch launch = find_launch(process, work.correlation);
        if (launch.track == kNoTrack) {
            rest.push_back(work);
            continue;
        }
        TraceTrack& track = tracks_[work.track];
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
        take_launched(work.track, work.row, spans[at], launch);
    }
    if (rest.size() != unlaunched.size()) unlaunched = std::move(rest);
}

}  // namespace gs
