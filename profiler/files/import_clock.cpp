// Events of a file on the clock of the store they go into, and what lies beside them in order of
// that.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "profiler/files/import_events.h"

namespace gs {

/// Moves the file's times to those of the store it goes into, by the wall clock and the shift that
/// was asked for.
void ImportEvents::shift(TraceStore& store, std::map<std::uint32_t, Delivery>& deliveries) {
    if (store.processes().empty()) return;
    if (!realtime_offset_ns)
        note("the file has no wall-clock time: it is shown at its own times, unaligned");
    const std::int64_t by =
        realtime_offset_ns ? *realtime_offset_ns - store.sources().realtime_offset_ns() : 0;
    if (std::abs(by) > kMaxImportTime)
        return note("the wall clocks are too far apart to be aligned");
    const auto move = [by, &shift = options_.shift](std::int64_t& t) {
        t += by;
        // The drift counts by the store's clock, which shows offset_ns less than the file's.
        const double since =
            (static_cast<double>(t - shift.at_ns) - shift.offset_ns) / (1 + shift.drift);
        t -= std::llround(shift.offset_ns + shift.drift * since);
    };
    const auto both = [move](auto& items) {
        for (auto& item : items) {
            move(item.begin_ns);
            move(item.end_ns);
        }
    };
    const auto moment = [move](auto& items) {
        for (auto& item : items) move(item.time_ns);
    };
    for (auto& [pid, delivery] : deliveries) {
        for (Finished& f : delivery.spans) {
            move(f.event.begin_ns);
            move(f.event.end_ns);
        }
        both(delivery.open);
        both(delivery.asyncs);
        both(delivery.overheads);
        moment(delivery.instants);
        Process& process = processes_[pid];
        both(process.work);
        for (GpuWorkEvent& work : process.work) {
            if (work.queued_ns != 0) move(work.queued_ns);
            if (work.submitted_ns != 0) move(work.submitted_ns);
        }
        both(process.calls);
        both(process.syncs);
        both(process.pauses);
        moment(process.memory);
        moment(process.points);
        moment(process.stacks.samples);
    }
    if (read_ns != 0) move(read_ns);
    realtime_offset_ns = store.sources().realtime_offset_ns();
}

/// Of all ranges of threads, in order of their begins.
std::vector<RangeValueEvent> ImportEvents::values_of(const Delivery& delivery) const {
    std::vector<RangeValueEvent> out;
    for (const Finished& f : delivery.spans) {
        if (f.event.values == 0 || tracks_[f.track].info.kind != TrackKind::thread) continue;
        for (RangeValueEvent value : values_[f.event.values - 1]) {
            value.begin_ns = f.event.begin_ns;
            value.track = f.track;
            value.depth = f.event.depth;
            out.push_back(value);
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
        return std::tie(a.begin_ns, a.depth) < std::tie(b.begin_ns, b.depth);
    });
    return out;
}

}  // namespace gs
