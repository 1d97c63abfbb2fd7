#include "profiler/store/store.h"

#include <algorithm>

#include "profiler/store/iteration_name.h"

namespace gs {
namespace {

constexpr std::size_t kMaxTracks = 65536;
constexpr std::size_t kMaxSeries = 1024;

std::uint64_t pair_key(std::uint32_t process, std::uint32_t number) {
    return std::uint64_t{process} << 32 | number;
}

}  // namespace

TraceStore::TraceStore(TraceStoreOptions options) : options_(options) {
    for (const char* text : kStageNames)
        intern(text);  // so that a stage's name index is its number
    unknown_name_ = intern("?");
}

void TraceStore::restart_warm_up() {
    for (ProcessState& state : process_states_)
        std::fill(std::begin(state.warm_up_left), std::end(state.warm_up_left), options_.warm_up);
}

void TraceStore::clear() {
    for (TraceTrack& track : tracks_) {
        track.rows.clear();
        track.launches.clear();
        track.works.clear();
    }
    for (TraceProcess& process : processes_) {
        process.syncs = {};
        process.memory = {};
    }
    for (ProcessState& state : process_states_) {
        state.launches.clear();
        state.unlaunched = {};
        for (auto& work : state.waiting) work = {};
    }
    for (auto& frames : frames_) frames = {};
    for (auto& calls : calls_) calls = {};
    for (auto& calls : gpu_calls_) calls = {};
    counters_.clear();
    counter_of_.clear();
    instants_ = {};
    losses_ = {};
    span_count_ = 0;
    end_ns_ = 0;
    restart_warm_up();
}

std::uint32_t TraceStore::intern(std::string_view text, std::string_view domain) {
    std::string key(text);
    if (!domain.empty()) key.append(1, '\x1f').append(domain);
    const auto [place, added] =
        index_of_name_.try_emplace(std::move(key), static_cast<std::uint32_t>(names_.size()));
    if (!added) return place->second;
    Name name{std::string(text), std::string(domain), 0, Stage::other, iteration_name(text).rank};
    const auto stage = std::find(std::begin(kStageNames), std::end(kStageNames), text);
    if (stage != std::end(kStageNames))
        name.stage = static_cast<Stage>(stage - std::begin(kStageNames));
    names_.push_back(std::move(name));
    return place->second;
}

std::uint32_t TraceStore::name_in(const Source& source, std::uint32_t id) {
    return id < source.name_of_id.size() ? source.name_of_id[id] : source.name_of_id[0];
}

void TraceStore::take_names(Source& source, const TraceBatch& batch) {
    if (source.name_of_id.empty()) source.name_of_id.push_back(unknown_name_);
    for (const NameInfo& name : batch.names) {
        if (name.name >= source.name_of_id.size())
            source.name_of_id.resize(name.name + 1, unknown_name_);
        if (name.category != 0) {
            categories_[{name.domain, name.category}] = name.text;
            continue;
        }
        const std::uint32_t index = intern(name.text, name.domain);
        source.name_of_id[name.name] = index;
        if (name.color != 0) names_[index].color = name.color;
    }
}

// Two rings of one process are one process: its ranges may be in one and its GPU work in the other.
std::uint32_t TraceStore::process_of(const TraceBatch& batch) {
    const ProcessKey key = batch.pid != 0
                               ? ProcessKey{batch.source >> 32, batch.pid, batch.process_start}
                               : ProcessKey{~0ull, batch.source, 0};
    const auto [place, added] =
        process_of_key_.try_emplace(key, static_cast<std::uint32_t>(processes_.size()));
    if (!added) return place->second;
    processes_.emplace_back();
    processes_.back().source = batch.source;
    processes_.back().pid = batch.pid;
    ProcessState& state = process_states_.emplace_back();
    std::fill(std::begin(state.warm_up_left), std::end(state.warm_up_left), options_.warm_up);
    return place->second;
}

TraceStore::Source& TraceStore::source_of(const TraceBatch& batch) {
    // Batches without a source (this process alone) are told apart by their process.
    const std::uint64_t key = batch.source != 0 ? batch.source : 1ull << 63 | batch.pid;
    const auto [place, added] = sources_.try_emplace(key);
    if (added) place->second.process = process_of(batch);
    return place->second;
}

std::uint32_t TraceStore::add_track(std::uint32_t process, std::uint32_t tid, TrackKind kind) {
    if (tracks_.size() >= kMaxTracks) return kNoTrack;
    const auto index = static_cast<std::uint32_t>(tracks_.size());
    TraceTrack& track = tracks_.emplace_back();
    track_states_.emplace_back();
    track.process = process;
    track.pid = processes_[process].pid;
    track.tid = tid;
    track.kind = kind;
    tracks_of_tid_[static_cast<std::size_t>(kind)][pair_key(process, tid)].push_back(index);
    return index;
}

std::uint32_t TraceStore::track_of(std::uint32_t process, std::uint32_t tid, TrackKind kind) const {
    const auto& tracks = tracks_of_tid_[static_cast<std::size_t>(kind)];
    const auto found = tracks.find(pair_key(process, tid));
    return found == tracks.end() ? kNoTrack : found->second.back();
}

/// The track of a thread's calls or overhead, made when there is none.
std::uint32_t TraceStore::tid_track(std::uint32_t process, std::uint32_t tid, TrackKind kind) {
    const std::uint32_t known = track_of(process, tid, kind);
    if (known != kNoTrack) return known;
    const std::uint32_t made = add_track(process, tid, kind);
    if (made == kNoTrack) return made;
    const std::uint32_t thread = track_of(process, tid, TrackKind::thread);
    const std::string of =
        thread != kNoTrack ? tracks_[thread].name : "thread " + std::to_string(tid);
    tracks_[made].name = (kind == TrackKind::api ? "CUDA calls of " : "overhead in ") + of;
    return made;
}

void TraceStore::take_track(Source& source, const TrackInfo& info) {
    const auto [place, added] = source.track_of_id.try_emplace(info.track, kNoTrack);
    if (added) place->second = add_track(source.process, info.tid, info.kind);
    if (place->second == kNoTrack) return;
    TraceTrack& track = tracks_[place->second];
    track.pid = info.pid;
    track.tid = info.tid;
    track.ended = info.ended;
    track.kind = info.kind;
    if (!info.name.empty()) track.name = info.name;
    if (track.name.empty())
        track.name =
            info.kind == TrackKind::thread ? "thread " + std::to_string(info.tid) : "GPU stream";
}

void TraceStore::ingest(const TraceBatch& batch) {
    if (batch.read_ns == 0) return;
    Source& source = source_of(batch);
    take_names(source, batch);
    for (const TrackInfo& track : batch.tracks) take_track(source, track);
    // The record that was lost may have been any: no frame that ends in this batch can be trusted
    // to be whole.
    const bool lossy = batch.loss.lapped > source.lapped;
    take_losses(source, batch);
    source.lapped = batch.loss.lapped;
    const auto track_of = [&](std::uint32_t id) {
        const auto found = source.track_of_id.find(id);
        return found == source.track_of_id.end() ? kNoTrack : found->second;
    };
    std::uint32_t last_id = kNoTrack, last_track = kNoTrack;  // spans of a thread come together
    for (const SpanEvent& e : batch.spans) {
        if (e.track != last_id) last_track = track_of(last_id = e.track);
        if (last_track >= tracks_.size()) continue;
        take_span(last_track, span_of(source, e), e.depth, lossy);
    }
    for (const DeviceSpanEvent& d : batch.device_spans) {
        const std::uint32_t track = track_of(d.span.track);
        if (track >= tracks_.size() || tracks_[track].kind != TrackKind::gpu_stream) continue;
        take_device_span(track, span_of(source, d.span), d.span.depth,
                         {d.launch_ns, track_of(d.launch_track), d.launch_depth});
    }
    take_activity(source, batch);
    take_points(source, batch);
    take_process(source, batch);
    if (span_count_ > options_.max_spans) forget_oldest();
}

TraceSpan TraceStore::span_of(const Source& source, const SpanEvent& e) {
    return {e.begin_ns,    e.end_ns,       e.payload, name_in(source, e.name),
            e.has_payload, e.payload_kind, e.category};
}

void TraceStore::take_points(const Source& source, const TraceBatch& batch) {
    for (const CounterEvent& e : batch.counters)
        take_counter(source.process, name_in(source, e.name), {e.time_ns, e.value});
    for (const InstantEvent& e : batch.instants) {
        const auto track = source.track_of_id.find(e.track);
        instants_.push_back({e.time_ns, e.payload,
                             track == source.track_of_id.end() ? kNoTrack : track->second,
                             name_in(source, e.name)});
    }
    instants_.keep_newest(options_.max_points);
}

/// Between what was read last time and the oldest that is still there now. What was overwritten
/// before the first look is the past, not a loss.
void TraceStore::take_losses(const Source& source, const TraceBatch& batch) {
    const std::int64_t before = processes_[source.process].read_ns;
    const std::uint64_t lapped = batch.loss.lapped - std::min(source.lapped, batch.loss.lapped);
    const std::uint64_t dropped =
        batch.loss.dropped - std::min(source.loss.dropped, batch.loss.dropped);
    if (before == 0 || lapped + dropped == 0) return;
    std::int64_t end = batch.read_ns;
    if (dropped == 0)
        for (const SpanEvent& span : batch.spans) end = std::min(end, span.end_ns);
    losses_.push_back({before, std::max(before, end), lapped + dropped, source.process});
    losses_.keep_newest(options_.max_points);
}

void TraceStore::take_process(Source& source, const TraceBatch& batch) {
    TraceProcess& process = processes_[source.process];
    if (process.name.empty() || source.process == 0) process.name = batch.process_name;
    if (!batch.labels.empty()) process.labels = batch.labels;
    // Of two rings the one that knows of CUPTI speaks for the process.
    if (batch.service && (!process.service || batch.service->cupti != abi::CuptiState::not_asked ||
                          process.service->cupti == abi::CuptiState::not_asked)) {
        const bool another = process.service &&
                             process.service->cupti == abi::CuptiState::not_asked &&
                             batch.service->cupti != abi::CuptiState::not_asked;
        if (!process.service_first || another) process.service_first = batch.service;
        process.service = batch.service;
    }
    for (const GpuDeviceEvent& device : batch.devices) {
        const auto known =
            std::find_if(process.devices.begin(), process.devices.end(),
                         [&](const GpuDeviceEvent& d) { return d.device == device.device; });
        if (known != process.devices.end())
            *known = device;
        else if (process.devices.size() < 256)
            process.devices.push_back(device);
    }
    for (const SyncEvent& sync : batch.syncs) process.syncs.push_back(sync);
    for (const MemoryEvent& event : batch.memory) process.memory.push_back(event);
    process.syncs.keep_newest(options_.max_points);
    process.memory.keep_newest(options_.max_points);

    source.open.clear();
    for (OpenSpan open : batch.open) {
        const auto track = source.track_of_id.find(open.track);
        if (track == source.track_of_id.end() || track->second == kNoTrack) continue;
        open.track = track->second;
        open.name = name_in(source, open.name);
        source.open.push_back(open);
    }
    open_.clear();
    for (const auto& [key, any] : sources_)
        open_.insert(open_.end(), any.open.begin(), any.open.end());
    source.loss = batch.loss;
    source.written = batch.written;
    total_losses(source.process);
    process.read_ns = std::max(process.read_ns, batch.read_ns);
    read_ns_ = std::max(read_ns_, batch.read_ns);
    realtime_offset_ns_ = batch.realtime_offset_ns;
    collector_cpu_ns_ = std::max(collector_cpu_ns_, batch.collector_cpu_ns);
}

void TraceStore::total_losses(std::uint32_t process) {
    const auto add = [](LossCounts& to, const LossCounts& loss) {
        to.lapped += loss.lapped;
        to.dropped += loss.dropped;
        to.malformed += loss.malformed;
        to.untimed += loss.untimed;
        to.dropped_strings += loss.dropped_strings;
        to.truncated_strings += loss.truncated_strings;
    };
    TraceProcess& of = processes_[process];
    loss_ = of.loss = {};
    written_ = of.written = 0;
    for (const auto& [key, source] : sources_) {
        add(loss_, source.loss);
        written_ += source.written;
        if (source.process != process) continue;
        add(of.loss, source.loss);
        of.written += source.written;
    }
}

void TraceStore::take_counter(std::uint32_t process, std::uint32_t name, CounterPoint point) {
    const auto [place, added] = counter_of_.try_emplace(pair_key(process, name), counters_.size());
    if (added) {
        if (counters_.size() >= kMaxSeries) {
            counter_of_.erase(place);
            return;
        }
        counters_.push_back({name, process, {}});
    }
    SlidingArray<CounterPoint>& points = counters_[place->second].points;
    points.push_back(point);
    points.keep_newest(options_.max_points);
}

// Drops an eighth: everything that ended before a time found by bisection, so that all threads
// begin together.
void TraceStore::forget_oldest() {
    const auto ended_before = [](const SlidingArray<TraceSpan>& row, std::int64_t t) {
        const auto view = row.view();
        return static_cast<std::size_t>(std::lower_bound(view.begin(), view.end(), t,
                                                         [](const TraceSpan& s, std::int64_t time) {
                                                             return s.end_ns < time;
                                                         }) -
                                        view.begin());
    };
    const std::size_t excess = span_count_ - (options_.max_spans - options_.max_spans / 8);
    std::int64_t low = begin_ns(), high = end_ns_ + 1;
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        std::size_t count = 0;
        for (const TraceTrack& track : tracks_)
            for (const auto& row : track.rows) count += ended_before(row, middle);
        (count < excess ? low : high) = middle;
    }
    for (TraceTrack& track : tracks_)
        for (std::size_t r = 0; r < track.rows.size(); ++r) {
            auto& row = track.rows[r];
            const std::size_t count = ended_before(row, high);
            row.drop_front(count);
            if (r < track.launches.size()) track.launches[r].drop_front(count);
            if (r < track.works.size()) track.works[r].drop_front(count);
            span_count_ -= count;
            forgotten_ += count;
        }
}

std::size_t TraceStore::bytes() const {
    std::size_t total = instants_.bytes();
    const auto add = [&total](const auto& arrays) {
        for (const auto& array : arrays) total += array.bytes();
    };
    for (const TraceTrack& track : tracks_) {
        add(track.rows);
        add(track.launches);
        add(track.works);
    }
    for (const TraceProcess& process : processes_)
        total += process.syncs.bytes() + process.memory.bytes();
    for (const ProcessState& state : process_states_) {
        total += state.launches.capacity() * sizeof(LaunchSlot) + state.unlaunched.bytes();
        add(state.waiting);
    }
    add(frames_);
    add(calls_);
    add(gpu_calls_);
    for (const CounterSeries& series : counters_) total += series.points.bytes();
    return total;
}

}  // namespace gs
