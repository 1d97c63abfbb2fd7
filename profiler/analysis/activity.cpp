#include "profiler/analysis/activity.h"

#include <algorithm>

#include "profiler/analysis/pauses.h"

namespace gs {
namespace {

/// A row's spans for which `wanted(index)`, joined where they touch, clipped.
template <class Wanted>
Intervals intervals_of(std::span<const TraceSpan> row, std::int64_t begin, std::int64_t end,
                       const Wanted& wanted) {
    Intervals out;
    for (const TraceSpan& span : spans_within(row, begin, end))
        if (wanted(static_cast<std::size_t>(&span - row.data())))
            append(out, {std::max(begin, span.begin_ns), std::min(end, span.end_ns)});
    return out;
}

Intervals sync_records(const TraceProcess& process, std::int64_t begin, std::int64_t end) {
    Intervals found;
    // They come in order of their ends, but for what CUPTI delivers late; in a file in any order.
    constexpr std::int64_t kLateNs = 60'000'000'000;
    const auto syncs = process.syncs.view();
    for (auto sync = syncs.rbegin();
         sync != syncs.rend() && (process.ended || sync->end_ns + kLateNs > begin); ++sync)
        if (sync->end_ns > begin && sync->begin_ns < end &&
            sync->type != SyncType::stream_wait_event)
            found.push_back({std::max(begin, sync->begin_ns), std::min(end, sync->end_ns)});
    std::ranges::sort(found, {}, &Interval::begin);
    Intervals out;
    for (const Interval& i : found) append(out, i);
    return out;
}

/// Work that was under way when a pause began may be recorded to its end; but of other work in the
/// pause nothing is known.
void leave_pauses_out(ProcessActivity& activity, const Intervals& pauses, Interval whole) {
    activity.watched = gaps_of(pauses, whole);
    if (pauses.empty()) return;
    for (Intervals* set :
         {&activity.kernels, &activity.copies, &activity.busy, &activity.sync, &activity.api})
        *set = intersection_of(*set, activity.watched);
}

}  // namespace

ApiKind ApiKinds::operator()(std::uint32_t name) {
    constexpr std::int8_t kUnasked = -1;
    if (name >= known_.size()) known_.resize(name + std::size_t{64}, kUnasked);
    if (known_[name] == kUnasked)
        known_[name] = static_cast<std::int8_t>(api_kind_of(store_->name(name)));
    return static_cast<ApiKind>(known_[name]);
}

std::span<const TraceSpan> spans_within(std::span<const TraceSpan> row, std::int64_t begin,
                                        std::int64_t end) {
    const auto rest = row.subspan(first_ending_after(row, begin));
    return {rest.begin(), std::ranges::lower_bound(rest, end, {}, &TraceSpan::begin_ns)};
}

ProcessActivity activity_of(const TraceStore& store, std::uint32_t process, std::int64_t begin,
                            std::int64_t end) {
    ProcessActivity out;
    std::vector<Intervals> kernels, copies, sync, api;
    ApiKinds kind_of(store);
    const auto any = [](std::size_t) { return true; };
    for (const TraceTrack& track : store.tracks()) {
        if (track.process != process) continue;
        for (std::size_t r = 0; r < track.rows.size(); ++r) {
            const auto row = track.rows[r].view();
            if (track.kind == TrackKind::gpu_stream) {
                out.has_gpu = out.has_gpu || !row.empty();
                const auto copying = [&](std::size_t i) { return is_copy(work_kind(track, r, i)); };
                kernels.push_back(
                    intervals_of(row, begin, end, [&](std::size_t i) { return !copying(i); }));
                copies.push_back(intervals_of(row, begin, end, copying));
            } else if (track.kind == TrackKind::api) {
                out.has_api = out.has_api || !row.empty();
                api.push_back(intervals_of(row, begin, end, any));
                sync.push_back(intervals_of(row, begin, end, [&](std::size_t i) {
                    return kind_of(row[i].name) == ApiKind::synchronize;
                }));
            }
        }
    }
    if (process < store.processes().size())
        sync.push_back(sync_records(store.processes()[process], begin, end));
    out.kernels = union_of(std::move(kernels));
    out.copies = union_of(std::move(copies));
    out.busy = union_of(out.kernels, out.copies);
    out.sync = union_of(std::move(sync));
    out.api = union_of(std::move(api));
    leave_pauses_out(out, pauses_of(store, process, Unrecorded::gpu, begin), {begin, end});
    return out;
}

}  // namespace gs
