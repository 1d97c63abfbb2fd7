#include "profiler/analysis/pauses.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gs {

namespace {

/// They come in order, but for those of two rings, a tick or two apart.
constexpr std::int64_t kTicksNs = 10'000'000'000;

/// A process with two rings records its pauses twice.
Intervals joined(std::vector<Interval> found) {
    std::ranges::sort(found, {}, &Interval::begin);
    Intervals out;
    for (const Interval& i : found) append(out, i);
    return out;
}

}  // namespace

Intervals pauses_of(const TraceStore& store, std::uint32_t process, Unrecorded what,
                    std::int64_t since_ns) {
    if (process >= store.processes().size()) return {};
    std::vector<Interval> found;
    const auto pauses = store.processes()[process].pauses.view();
    for (auto pause = pauses.rbegin(); pause != pauses.rend(); ++pause) {
        if (pause->end_ns + kTicksNs <= since_ns) break;
        if ((what == Unrecorded::gpu ? pause->gpu : pause->ranges) && pause->end_ns > since_ns)
            found.push_back({pause->begin_ns, pause->end_ns});
    }
    return joined(std::move(found));
}

Intervals unknown_of(const TraceStore& store, std::uint32_t process, Unrecorded what,
                     std::int64_t since_ns) {
    std::vector<Interval> found;
    const auto losses = store.sources().losses();
    for (auto loss = losses.rbegin(); loss != losses.rend(); ++loss) {
        if (loss->end_ns + kTicksNs <= since_ns) break;
        if (loss->process == process) found.push_back({loss->begin_ns, loss->end_ns});
    }
    return union_of(pauses_of(store, process, what, since_ns), joined(std::move(found)));
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
