#include "profiler/store/sources.h"

#include <algorithm>
#include <charconv>

namespace gs {
namespace {

/// Batches without a source (this process only) are distinguished by their process.
std::uint64_t key_of(const TraceBatch& batch) {
    return batch.source != 0 ? batch.source : 1ull << 63 | batch.pid;
}

void take_names(TraceSource& source, const TraceBatch& batch, NameBook& names) {
    if (source.name_of_id.empty()) source.name_of_id.push_back(names.unknown());
    for (const NameInfo& name : batch.names) {
        if (name.name >= source.name_of_id.size())
            source.name_of_id.resize(name.name + 1, names.unknown());
        if (name.category != 0) {
            names.set_category(name.domain, name.category, name.text);
            continue;
        }
        const std::uint32_t index = names.intern(name.text, name.domain);
        source.name_of_id[name.name] = index;
        if (name.color != 0) names.set_color(index, name.color);
    }
}

/// Where `record --pytorch` says the rank, whatever the environment said: as names of categories.
void take_rank(const TraceBatch& batch, ProcessLabels& labels) {
    for (const NameInfo& name : batch.names) {
        if (name.category == 0 || name.domain != "gausscope.rank") continue;
        int& stated = name.category == 1 ? labels.rank : labels.world_size;
        std::from_chars(name.text.data(), name.text.data() + name.text.size(), stated);
    }
}

void take_track(TraceSource& source, const TrackInfo& info, std::uint32_t pid, Timeline& timeline) {
    const auto [place, added] = source.track_of_id.try_emplace(info.track, kNoTrack);
    if (added) place->second = timeline.add(source.process, pid, info.tid, info.kind);
    if (place->second == kNoTrack) return;
    TraceTrack& track = timeline.track(place->second);
    track.pid = info.pid;
    track.tid = info.tid;
    track.ended = info.ended;
    track.kind = info.kind;
    if (!info.name.empty()) track.name = info.name;
    if (track.name.empty())
        track.name =
            info.kind == TrackKind::thread ? "thread " + std::to_string(info.tid) : "GPU stream";
}

/// `to` counts all that some sources lost; one of them now says `loss` instead of `before`.
void replace_losses(LossCounts& to, const LossCounts& before, const LossCounts& loss) {
    using Of = LossCounts;
    for (const auto count :
         {&Of::lapped, &Of::dropped, &Of::malformed, &Of::untimed, &Of::too_deep, &Of::forgotten,
          &Of::unexplained, &Of::dropped_strings, &Of::truncated_strings})
        to.*count += loss.*count - before.*count;
}

/// Events that come in order of time.
template <class T, class Time>
std::size_t count_before(const SlidingArray<T>& all, std::int64_t t, Time T::*time) {
    const auto view = all.view();
    return static_cast<std::size_t>(
        std::ranges::partition_point(view, [&](const T& e) { return e.*time < t; }) - view.begin());
}

/// A pause comes in pieces, one a tick; the clock of each may differ a little.
void take_pause(SlidingArray<PauseEvent>& pauses, const PauseEvent& pause) {
    constexpr std::int64_t kTouchNs = 1'000'000;
    if (!pauses.empty() && pauses.back().ranges == pause.ranges && pauses.back().gpu == pause.gpu &&
        pause.begin_ns - pauses.back().end_ns < kTouchNs)
        pauses.back().end_ns = std::max(pauses.back().end_ns, pause.end_ns);
    else
        pauses.push_back(pause);
}

}  // namespace

void TraceProcess::take(const TraceBatch& batch, std::size_t keep) {
    if (batch.visible_pid != 0) visible_pid = batch.visible_pid;
    if (!batch.labels.empty()) labels = batch.labels;
    take_rank(batch, labels);
    // Of two rings the one that knows of CUPTI speaks for the process.
    if (batch.service && (!service || batch.service->cupti != abi::CuptiState::not_asked ||
                          service->cupti == abi::CuptiState::not_asked)) {
        const bool another = service && service->cupti == abi::CuptiState::not_asked &&
                             batch.service->cupti != abi::CuptiState::not_asked;
        if (!service_first || another) service_first = batch.service;
        service = batch.service;
    }
    for (const GpuDeviceEvent& device : batch.devices) {
        const auto known = std::ranges::find(devices, device.device, &GpuDeviceEvent::device);
        if (known != devices.end())
            *known = device;
        else if (devices.size() < 256)
            devices.push_back(device);
    }
    for (const SyncEvent& sync : batch.syncs) syncs.push_back(sync);
    for (const MemoryEvent& event : batch.memory) memory.push_back(event);
    for (const PauseEvent& pause : batch.pauses) take_pause(pauses, pause);
    pauses.keep_newest(keep);
    syncs.keep_newest(keep);
    memory.keep_newest(keep);
    read_ns = std::max(read_ns, batch.read_ns);
}

std::size_t TraceProcess::bytes_before(std::int64_t t) const {
    return count_before(syncs, t, &SyncEvent::end_ns) * sizeof(SyncEvent) +
           count_before(memory, t, &MemoryEvent::time_ns) * sizeof(MemoryEvent);
}

void TraceProcess::forget_before(std::int64_t t) {
    syncs.drop_front(count_before(syncs, t, &SyncEvent::end_ns));
    memory.drop_front(count_before(memory, t, &MemoryEvent::time_ns));
}

void TraceSource::take_open(std::span<const OpenSpan> spans) {
    open.clear();
    for (OpenSpan one : spans) {
        one.track = track(one.track);
        if (one.track == kNoTrack) continue;
        one.name = name(one.name);
        open.push_back(one);
    }
}

// Two rings of one process are one process: its ranges may be in one and its GPU work in the other.
// Two containers may each have a process of the same number that started at the same time.
std::uint32_t Sources::process_of(const TraceBatch& batch) {
    const std::uint32_t pid = batch.visible_pid != 0 ? batch.visible_pid : batch.pid;
    const ProcessKey key = pid != 0 ? ProcessKey{batch.source >> 32, pid, batch.process_start}
                                    : ProcessKey{~0ull, batch.source, 0};
    const auto [place, added] =
        process_of_key_.try_emplace(key, static_cast<std::uint32_t>(processes_.size()));
    if (added) {
        TraceProcess& process = processes_.emplace_back();
        process.source = batch.source;
        process.pid = batch.pid;
    }
    return place->second;
}

TraceSource& Sources::take(const TraceBatch& batch, NameBook& names, Timeline& timeline) {
    const auto [place, added] = sources_.try_emplace(key_of(batch));
    TraceSource& source = place->second;
    if (added) {
        source.process = process_of(batch);
        processes_[source.process].ended = false;
    }
    take_names(source, batch, names);
    const std::uint32_t pid = processes_[source.process].pid;
    for (const TrackInfo& track : batch.tracks) take_track(source, track, pid, timeline);
    return source;
}

void Sources::take_state(TraceSource& source, const TraceBatch& batch, std::size_t keep) {
    take_losses(source, batch, keep);
    total_losses(source, batch);
    source.loss = batch.loss;
    source.written = batch.written;
    TraceProcess& process = processes_[source.process];
    // By exec a process gets another name, which who named it first knows, or, where that was a
    // ring, the next one.
    const auto namer = sources_.find(process.named_by);
    const bool open = namer == sources_.end() || &namer->second == &source ||
                      (namer->second.ended && !batch.ended);
    if (open && !batch.process_name.empty()) {
        process.name = batch.process_name;
        process.named_by = key_of(batch);
    }
    process.take(batch, keep);
    if (!source.open.empty() || !batch.open.empty()) {
        source.take_open(batch.open);
        gather_open();
    }
    if (batch.ended) take_end(source);
    read_ns_ = std::max(read_ns_, batch.read_ns);
    realtime_offset_ns_ = batch.realtime_offset_ns;
    collector_cpu_ns_ = std::max(collector_cpu_ns_, batch.collector_cpu_ns);
}

/// Between what was read last time and the oldest that is still there now. What was overwritten
/// before the first look is the past, not a loss.
void Sources::take_losses(const TraceSource& source, const TraceBatch& batch, std::size_t keep) {
    const std::int64_t before = processes_[source.process].read_ns;
    const std::uint64_t lapped =
        batch.loss.lapped - std::min(source.loss.lapped, batch.loss.lapped);
    const std::uint64_t dropped =
        batch.loss.dropped - std::min(source.loss.dropped, batch.loss.dropped);
    if (before == 0 || lapped + dropped == 0) return;
    std::int64_t end = batch.read_ns;
    if (dropped == 0)
        for (const SpanEvent& span : batch.spans) end = std::min(end, span.end_ns);
    losses_.push_back({before, std::max(before, end), lapped + dropped, source.process});
    losses_.keep_newest(keep);
}

void Sources::gather_open() {
    open_.clear();
    for (const auto& [key, any] : sources_)
        open_.insert(open_.end(), any.open.begin(), any.open.end());
}

void Sources::total_losses(const TraceSource& source, const TraceBatch& batch) {
    TraceProcess& of = processes_[source.process];
    replace_losses(of.loss, source.loss, batch.loss);
    replace_losses(loss_, source.loss, batch.loss);
    of.written += batch.written - source.written;
    written_ += batch.written - source.written;
}

/// Its numbers for names and tracks are of no use any more; its open ranges say where it ended.
void Sources::take_end(TraceSource& source) {
    source.ended = true;
    source.name_of_id = std::vector<std::uint32_t>();  // an empty list would keep the memory
    source.track_of_id = std::unordered_map<std::uint32_t, std::uint32_t>();
    processes_[source.process].ended = std::ranges::none_of(sources_, [&](const auto& entry) {
        return entry.second.process == source.process && !entry.second.ended;
    });
}

std::vector<bool> Sources::held_tracks(const Timeline& timeline) const {
    std::vector<bool> held(timeline.tracks().size());
    for (const auto& [key, source] : sources_)
        for (const auto& [id, track] : source.track_of_id)
            if (track < held.size() && !timeline.tracks()[track].ended) held[track] = true;
    return held;
}

void Sources::mark_names(std::vector<bool>& used) const {
    for (const auto& [key, source] : sources_)
        for (const std::uint32_t name : source.name_of_id) used[name] = true;
    for (const OpenSpan& open : open_) used[open.name] = true;
}

std::size_t Sources::bytes_before(std::int64_t t) const {
    std::size_t total = 0;
    for (const TraceProcess& process : processes_) total += process.bytes_before(t);
    return total;
}

void Sources::forget_before(std::int64_t t) {
    for (TraceProcess& process : processes_) process.forget_before(t);
}

void Sources::renumber(const Renumbering& to) {
    keep_those(processes_, to.process);
    std::erase_if(sources_, [&](const auto& e) { return to.process(e.second.process) == kGone; });
    std::erase_if(process_of_key_, [&](const auto& e) { return to.process(e.second) == kGone; });
    for (auto& [key, process] : process_of_key_) process = to.process(process);
    for (auto& [key, source] : sources_) {
        source.process = to.process(source.process);
        for (std::uint32_t& name : source.name_of_id) name = to.name(name);
        for (auto& [id, track] : source.track_of_id) track = to.track(track);
        std::erase_if(source.track_of_id, [](const auto& e) { return e.second == kNoTrack; });
        for (OpenSpan& open : source.open) {
            open.track = to.track(open.track);
            open.name = to.name(open.name);
        }
        std::erase_if(source.open, [](const OpenSpan& open) { return open.track == kNoTrack; });
    }
    gather_open();
    for (LossStretch& loss : losses_.items()) loss.process = to.process(loss.process);
    losses_ = filtered(losses_, [](const LossStretch& loss) { return loss.process != kGone; });
}

void Sources::clear() {
    for (TraceProcess& process : processes_) {
        process.syncs = {};
        process.memory = {};
        process.pauses = {};
    }
    losses_ = {};
}

std::size_t Sources::bytes() const {
    std::size_t total = fixed_bytes();
    for (const TraceProcess& process : processes_) total += process.bytes();
    return total;
}

std::size_t Sources::fixed_bytes() const {
    constexpr std::size_t kProcess = 2048;  // its labels, devices and keys included
    constexpr std::size_t kId = 40;         // of a track: two numbers in a hash
    std::size_t total = processes_.size() * kProcess;
    for (const auto& [key, source] : sources_)
        total += sizeof(TraceSource) + source.name_of_id.capacity() * sizeof(std::uint32_t) +
                 source.track_of_id.size() * kId + source.open.capacity() * sizeof(OpenSpan);
    return total;
}

Sources Sources::excerpt(std::int64_t begin, std::int64_t end) const {
    Sources out;
    for (const TraceProcess& p : processes_) {
        TraceProcess& copy = out.processes_.emplace_back();
        static_cast<ProcessFacts&>(copy) = p;
        copy.syncs = filtered(
            p.syncs, [&](const SyncEvent& s) { return s.end_ns > begin && s.begin_ns < end; });
        copy.memory = filtered(
            p.memory, [&](const MemoryEvent& m) { return m.time_ns >= begin && m.time_ns <= end; });
        copy.pauses = filtered(
            p.pauses, [&](const PauseEvent& e) { return e.end_ns > begin && e.begin_ns < end; });
    }
    out.open_ = open_;
    out.loss_ = loss_;
    out.written_ = written_;
    out.read_ns_ = read_ns_;
    out.realtime_offset_ns_ = realtime_offset_ns_;
    out.collector_cpu_ns_ = collector_cpu_ns_;
    return out;
}

}  // namespace gs
