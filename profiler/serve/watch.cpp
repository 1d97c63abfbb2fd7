#include "profiler/serve/watch.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "profiler/store/node_gpus.h"

namespace gs::serve {

bool misses_gpu_work(const TraceProcess& process, std::int64_t time_ns) {
    const bool waits = process.service && process.service->gpu_complete_ns > 0 && !process.ended;
    return waits && process.service->gpu_complete_ns < time_ns;
}

std::int64_t settled_until(const TraceProcess& process, std::int64_t now_ns) {
    const std::int64_t until = now_ns - kLagNs;
    return misses_gpu_work(process, until)
               ? std::max(process.service->gpu_complete_ns, now_ns - kPatienceNs)
               : until;
}

namespace {

/// Processes with call stacks. Those that a watched program has started may have nothing else.
std::set<std::uint32_t> sampled_in(const TraceStore& store) {
    std::set<std::uint32_t> out;
    for (const SampledThread& thread : store.samples().threads()) out.insert(thread.process);
    return out;
}

/// When the first range, call or work of a process begins that is there; INT64_MAX: none is.
std::int64_t first_record(const TraceStore& store, std::uint32_t process) {
    std::int64_t out = std::numeric_limits<std::int64_t>::max();
    for (const TraceTrack& track : store.tracks())
        for (const auto& row : track.rows)
            if (track.process == process && !row.empty())
                out = std::min(out, row.view().front().begin_ns);
    return out;
}

}  // namespace

std::vector<News> Watch::look(const TraceStore& store, std::int64_t now_ns) {
    std::vector<News> out;
    std::map<std::uint64_t, Seen> still_there;
    const std::set<std::uint32_t> sampled = sampled_in(store);
    for (std::uint32_t p = 0; p < store.processes().size(); ++p) {
        const TraceProcess& process = store.processes()[p];
        const bool records = process.service || process.written > 0 || !sampled.contains(p);
        if (is_node_gpus(process) || !records) continue;
        if (process.ended && now_ns - process.read_ns > kAfterEndNs) continue;
        const std::int64_t until = settled_until(process, now_ns);
        News news{.process = p, .source = process.source};
        const auto known = seen_.find(news.source);
        // What was recorded before the first look is history; counters begin with the present.
        const std::int64_t since = looked_until_ == 0 ? until : std::min(looked_until_, until);
        Seen seen =
            known != seen_.end() ? std::move(known->second) : Seen{IterationFollower(since), since};
        // Before its first record nobody knows what it did.
        if (!seen.begun) {
            const std::int64_t first = first_record(store, p);
            seen.begun = first <= until;
            if (seen.begun) seen.stretch_until = std::max(seen.stretch_until, first);
        }
        news.iterations = seen.iterations.take(store, p, until, process.ended);
        news.parts = break_down(store, news.iterations);
        news.own = own_times(store, news.iterations);
        if (seen.begun && until > seen.stretch_until) {
            news.stretch = break_down(store, p, seen.stretch_until, until);
            news.gpu_incomplete = misses_gpu_work(process, until);
            seen.stretch_until = until;
        }
        still_there.emplace(news.source, std::move(seen));
        out.push_back(std::move(news));
    }
    seen_ = std::move(still_there);
    looked_until_ = now_ns - kLagNs;
    return out;
}

}  // namespace gs::serve
