#include "profiler/files/export_lanes.h"

#include <fmt/format.h>

#include <algorithm>

namespace gs {
namespace {

/// When each process did something last, or was read last.
std::vector<std::int64_t> ends_of_processes(const TraceStore& store) {
    std::vector<std::int64_t> out;
    for (const TraceProcess& process : store.processes()) out.push_back(process.read_ns);
    const auto take = [&](std::uint32_t process, std::int64_t time) {
        if (process < out.size()) out[process] = std::max(out[process], time);
    };
    for (const TraceTrack& track : store.tracks())
        for (const auto& row : track.rows)
            if (!row.empty()) take(track.process, row.back().end_ns);
    for (const CounterSeries& series : store.counters())
        if (!series.points.empty()) take(series.process, series.points.back().time_ns);
    return out;
}

}  // namespace

OpenRanges::OpenRanges(const TraceStore& store) {
    if (store.sources().open_spans().empty()) return;
    const std::vector<std::int64_t> ends = ends_of_processes(store);
    by_track_.resize(store.tracks().size());
    for (const OpenSpan& open : store.sources().open_spans()) {
        if (open.track >= by_track_.size()) continue;
        const std::uint32_t process = store.tracks()[open.track].process;
        const std::int64_t end = open.end_ns != 0        ? open.end_ns
                                 : process < ends.size() ? ends[process]
                                                         : store.end_ns();
        TraceSpan span{open.begin_ns, std::max(end, open.begin_ns), open.payload, open.name};
        span.has_payload = open.payload != 0;
        by_track_[open.track].push_back({span, open.depth});
        ++count_;
    }
    for (auto& of : by_track_) std::ranges::stable_sort(of, {}, &OpenRange::depth);
}

std::vector<std::vector<LaneRow>> lane_groups(const TraceStore& store, const OpenRanges& open,
                                              std::size_t t) {
    const TraceTrack& track = store.tracks()[t];
    const bool apart = track.kind == TrackKind::overlapping || track.described();
    std::vector<std::vector<LaneRow>> out(1);
    for (const OpenRange& range : open.of(t))
        out[0].push_back({{&range.span, 1}, range.depth, true});
    for (std::size_t row = 0; row < track.rows.size(); ++row) {
        if (apart && !out.back().empty()) out.emplace_back();
        out.back().push_back({track.rows[row].view(), row, false});
    }
    return out;
}

std::size_t lane_count(std::span<const LaneRow> rows, const LaneTime& time) {
    constexpr std::size_t kNone = ~std::size_t{0};
    return walk_lane(
        rows, kNone, time, [](const TraceSpan&, const LaneRow&) {}, [](const TraceSpan&) {});
}

std::string lane_name(const std::string& track, std::size_t lane) {
    return lane == 0 ? track : fmt::format("{} (overlapping {})", track, lane + 1);
}

}  // namespace gs
