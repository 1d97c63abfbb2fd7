// TraceStore's copy of a stretch of time, for what takes longer than a frame of the window may.
#include <algorithm>

#include "profiler/store/store.h"

namespace gs {
namespace {

/// [first, last) of a row that overlap [begin, end].
std::pair<std::size_t, std::size_t> within(std::span<const TraceSpan> row, std::int64_t begin,
                                           std::int64_t end) {
    const auto first =
        std::upper_bound(row.begin(), row.end(), begin,
                         [](std::int64_t t, const TraceSpan& s) { return t < s.end_ns; });
    const auto last = std::lower_bound(
        first, row.end(), end, [](const TraceSpan& s, std::int64_t t) { return s.begin_ns < t; });
    return {static_cast<std::size_t>(first - row.begin()),
            static_cast<std::size_t>(last - row.begin())};
}

template <class T>
SlidingArray<T> part_of(const SlidingArray<T>& all, std::pair<std::size_t, std::size_t> range) {
    SlidingArray<T> out;
    const auto view = all.view();
    for (std::size_t i = range.first; i < std::min(range.second, view.size()); ++i)
        out.push_back(view[i]);
    return out;
}

template <class T, class Keep>
SlidingArray<T> filtered(const SlidingArray<T>& all, const Keep& keep) {
    SlidingArray<T> out;
    for (const T& item : all.view())
        if (keep(item)) out.push_back(item);
    return out;
}

TraceTrack described(const TraceTrack& track) {
    TraceTrack out;
    out.pid = track.pid;
    out.tid = track.tid;
    out.name = track.name;
    out.ended = track.ended;
    out.kind = track.kind;
    out.process = track.process;
    out.device = track.device;
    out.context = track.context;
    out.stream = track.stream;
    return out;
}

TraceProcess described(const TraceProcess& p, std::int64_t begin, std::int64_t end) {
    TraceProcess out;
    out.source = p.source;
    out.pid = p.pid;
    out.name = p.name;
    out.labels = p.labels;
    out.service = p.service;
    out.service_first = p.service_first;
    out.loss = p.loss;
    out.written = p.written;
    out.devices = p.devices;
    out.read_ns = p.read_ns;
    out.syncs =
        filtered(p.syncs, [&](const SyncEvent& s) { return s.end_ns > begin && s.begin_ns < end; });
    out.memory = filtered(
        p.memory, [&](const MemoryEvent& m) { return m.time_ns >= begin && m.time_ns <= end; });
    return out;
}

}  // namespace

TraceStore TraceStore::excerpt(std::int64_t begin, std::int64_t end) const {
    TraceStore out(options_);
    out.names_ = names_;
    out.categories_ = categories_;
    out.unknown_name_ = unknown_name_;
    out.stage_map_ = stage_map_;
    out.gpu_stages_ = gpu_stages_;
    for (const TraceProcess& process : processes_)
        out.processes_.push_back(described(process, begin, end));
    out.process_states_.resize(process_states_.size());
    for (std::size_t i = 0; i < process_states_.size(); ++i) {
        out.process_states_[i].iterations_on = process_states_[i].iterations_on;
        out.process_states_[i].busiest = process_states_[i].busiest;
    }
    std::copy(std::begin(tracks_of_tid_), std::end(tracks_of_tid_), std::begin(out.tracks_of_tid_));
    out.tracks_.reserve(tracks_.size());
    for (const TraceTrack& track : tracks_) {
        TraceTrack copy = described(track);
        for (std::size_t r = 0; r < track.rows.size(); ++r) {
            const auto range = within(track.rows[r].view(), begin, end);
            copy.rows.push_back(part_of(track.rows[r], range));
            if (r < track.launches.size())
                copy.launches.push_back(part_of(track.launches[r], range));
            if (r < track.works.size()) copy.works.push_back(part_of(track.works[r], range));
            out.span_count_ += range.second - range.first;
            if (!copy.rows.back().empty())
                out.end_ns_ = std::max(out.end_ns_, copy.rows.back().back().end_ns);
        }
        out.tracks_.push_back(std::move(copy));
    }
    const auto in_time = [&](const auto& point) {
        return point.time_ns >= begin && point.time_ns <= end;
    };
    for (const CounterSeries& c : counters_)
        out.counters_.push_back({c.name, c.process, filtered(c.points, in_time)});
    out.instants_ =
        instants_;  // few, and those that say why something is not there come at the start
    out.open_ = open_;
    out.loss_ = loss_;
    out.written_ = written_;
    out.read_ns_ = read_ns_;
    out.realtime_offset_ns_ = realtime_offset_ns_;
    out.collector_cpu_ns_ = collector_cpu_ns_;
    return out;
}

}  // namespace gs
