#include "profiler/analysis/pauses.h"

#include <algorithm>
#include <vector>

namespace gs {

Intervals pauses_of(const TraceStore& store, std::uint32_t process, Unrecorded what,
                    std::int64_t since_ns) {
    Intervals out;
    if (process >= store.processes().size()) return out;
    std::vector<Interval> found;
    // They come in order, but for those of two rings, a tick or two apart.
    constexpr std::int64_t kTicksNs = 10'000'000'000;
    const auto pauses = store.processes()[process].pauses.view();
    for (auto pause = pauses.rbegin(); pause != pauses.rend(); ++pause) {
        if (pause->end_ns + kTicksNs <= since_ns) break;
        if ((what == Unrecorded::gpu ? pause->gpu : pause->ranges) && pause->end_ns > since_ns)
            found.push_back({pause->begin_ns, pause->end_ns});
    }
    // A process with two rings records its pauses twice.
    std::sort(found.begin(), found.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    for (const Interval& i : found) append(out, i);
    return out;
}

Unrecorded unrecorded_on(const TraceTrack& track) {
    const bool ranges = track.kind == TrackKind::thread || track.kind == TrackKind::overlapping;
    return ranges ? Unrecorded::ranges : Unrecorded::gpu;
}

void keep_whole(const TraceStore& store, Iterations& iterations) {
    const Intervals pauses = pauses_of(store, iterations.process, Unrecorded::gpu);
    if (pauses.empty()) return;
    std::erase_if(iterations.items, [&](const Iteration& i) {
        return length_within(pauses, {i.begin_ns, i.end_ns}) > 0;
    });
}

}  // namespace gs
