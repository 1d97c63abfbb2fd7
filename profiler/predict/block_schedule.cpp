#include "profiler/predict/block_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

namespace gs {
namespace {

/// A multiprocessor: its blocks all progress alike, so a block ends when the progress made since
/// it came equals its work. Progress is counted per block from the start of time.
struct Multiprocessor {
    std::priority_queue<double, std::vector<double>, std::greater<>> ends;  ///< in progress
    double progress = 0, time = 0;

    /// Progress a block makes in a unit of time while `n` are here.
    static double rate(std::size_t n, double alone) {
        const double count = static_cast<double>(n);
        return std::min(1.0, count * alone) / count;
    }
    double next_end(double alone) const {
        return time + (ends.top() - progress) / rate(ends.size(), alone);
    }
    void advance_to(double now, double alone) {
        if (!ends.empty()) progress += (now - time) * rate(ends.size(), alone);
        time = now;
    }
};

}  // namespace

double makespan(std::span<const double> work, const BlockPlaces& places) {
    const std::size_t count = static_cast<std::size_t>(std::max(1, places.multiprocessors)),
                      resident = static_cast<std::size_t>(std::max(1, places.resident));
    const double alone = std::clamp(places.alone, 1e-3, 1.0);
    std::vector<Multiprocessor> all(count);
    struct Event {
        double time;
        std::size_t at;
        bool operator>(const Event& o) const { return time != o.time ? time > o.time : at > o.at; }
    };
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::size_t next = 0;
    const auto place = [&](std::size_t at) { all[at].ends.push(all[at].progress + work[next++]); };
    // The first blocks go round the multiprocessors, one each, until all places are taken.
    for (std::size_t round = 0; round < resident; ++round)
        for (std::size_t at = 0; at < count && next < work.size(); ++at) place(at);
    for (std::size_t at = 0; at < count; ++at)
        if (!all[at].ends.empty()) events.push({all[at].next_end(alone), at});
    double last = 0;
    while (!events.empty()) {
        const auto [now, at] = events.top();
        events.pop();
        Multiprocessor& here = all[at];
        here.advance_to(now, alone);
        here.progress = std::max(here.progress, here.ends.top());  // rounding loses nothing
        here.ends.pop();
        last = std::max(last, now);
        if (next < work.size()) place(at);
        if (!here.ends.empty()) events.push({here.next_end(alone), at});
    }
    return last;
}

}  // namespace gs
