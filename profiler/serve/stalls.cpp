#include "profiler/serve/stalls.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/log.h"

namespace gs::serve {
namespace {

/// Ranks of one job on one node belong together. Jobs without a name do where their ranks are of
/// one number.
std::string job_of(const TraceProcess& process) {
    const ProcessLabels& l = process.labels;
    if (l.rank < 0) return fmt::format("process {}", process.source);
    return fmt::format("job {} of {}", l.job, l.world_size);
}

std::string path_text(const std::vector<std::string>& inside) {
    return inside.empty() ? "outside of any range"
                          : fmt::format("inside {}", fmt::join(inside, " > "));
}

}  // namespace

std::vector<Trigger> Stalls::look(const TraceStore& store, std::span<const News> news,
                                  std::int64_t now_ns) {
    std::vector<Trigger> out;
    std::map<std::uint64_t, Known> still_there;
    std::map<std::uint64_t, std::pair<const News*, Stall>> stuck;
    std::set<std::string> told_jobs;
    for (const News& n : news) {
        Known& known = still_there.emplace(n.source, std::move(known_[n.source])).first->second;
        const TraceProcess& process = store.processes()[n.process];
        known.pulse.take(store, n.iterations,
                         n.stretch.kernels > 0 ? settled_until(process, now_ns) : 0);
        if (auto stall = known.pulse.stall(store, n.process, now_ns, options_)) {
            if (known.told) told_jobs.insert(job_of(process));
            stuck.emplace(n.source, std::make_pair(&n, std::move(*stall)));
        } else if (std::exchange(known.told, false)) {
            log_info("{} ({}) makes progress again, or has ended", process.name, process.pid);
        }
    }
    known_ = std::move(still_there);
    stalled_.clear();
    for (const auto& [source, found] : stuck) {
        const auto& [n, stall] = found;
        stalled_[source] = {static_cast<double>(now_ns - stall.since_ns) * 1e-9,
                            stall.inside.empty() ? "" : stall.inside.back()};
        known_[source].told = true;
        if (told_jobs.insert(job_of(store.processes()[n->process])).second)
            out.push_back(trigger_of(store, news, *n, stall, now_ns));
    }
    return out;
}

Trigger Stalls::trigger_of(const TraceStore& store, std::span<const News> news, const News& of,
                           const Stall& stall, std::int64_t now_ns) const {
    const TraceProcess& process = store.processes()[of.process];
    const std::string reason =
        fmt::format("{} ({}) has made no progress for {:.3g} s, {}{}{}", process.name, process.pid,
                    static_cast<double>(now_ns - stall.since_ns) * 1e-9, path_text(stall.inside),
                    stall.stopped ? "; it is stopped by a signal (state T)" : "",
                    job_text(store, news, process));
    return {"stall", reason, of.process, now_ns, stall.since_ns};
}

/// "; job 77: ranks 0-6 are in all_reduce, 7 in load".
std::string Stalls::job_text(const TraceStore& store, std::span<const News> news,
                             const TraceProcess& of) const {
    if (of.labels.rank < 0) return {};
    std::vector<RankPlace> ranks;
    for (const News& n : news) {
        const TraceProcess& process = store.processes()[n.process];
        if (process.ended || job_of(process) != job_of(of)) continue;
        const auto inside = known_.at(n.source).pulse.inside(store, n.process);
        ranks.push_back({process.labels.rank, inside.empty() ? "" : inside.back()});
    }
    if (ranks.size() < 2 && of.labels.world_size < 2) return {};
    return fmt::format("; {}{}",
                       of.labels.job.empty() ? "" : fmt::format("job {}: ", of.labels.job),
                       describe_ranks(std::move(ranks), of.labels.world_size));
}

}  // namespace gs::serve
