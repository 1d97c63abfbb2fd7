#include "profiler/analysis/pauses.h"

#include <algorithm>
#include <vector>

namespace gs {

Intervals pauses_of(const TraceStore& store, std::uint32_t process, Unrecorded what) {
    Intervals out;
    if (process >= store.processes().size()) return out;
    std::vector<Interval> found;
    for (const PauseEvent& pause : store.processes()[process].pauses.view())
        if (what == Unrecorded::gpu ? pause.gpu : pause.ranges)
            found.push_back({pause.begin_ns, pause.end_ns});
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
