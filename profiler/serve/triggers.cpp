#include "profiler/serve/triggers.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/record/clock.h"
#include "base/record/process.h"
#include "profiler/store/statistics.h"

namespace gs::serve {
namespace {

std::string title_of(const TraceProcess& process) {
    return fmt::format("{} ({})", process.name, process.pid);
}

/// Gone, or dead and only waiting for its parent to ask how it ended. `pid` as seen from here: that
/// of a process in a container is somebody else there. Of one that is not seen nothing is said.
bool is_gone(std::uint32_t pid) {
    if (pid == 0) return false;
    if (::kill(static_cast<pid_t>(pid), 0) != 0) return errno == ESRCH;
    const char state = process_stat(pid).state;
    return state == 'Z' || state == 'X';
}

}  // namespace

std::vector<Trigger> Triggers::look(const TraceStore& store, std::span<const News> news,
                                    std::int64_t now_ns) {
    std::vector<Trigger> out;
    std::map<std::uint64_t, Known> still_there;
    for (const News& n : news) {
        Known& known = still_there.emplace(n.source, std::move(known_[n.source])).first->second;
        slow_steps(known, store, n, now_ns, out);
        crash(known, store, n, now_ns, out);
    }
    known_ = std::move(still_there);
    if (options_.rules) ask_rules(store, news, now_ns, out);
    return out;
}

/// Those that waited longest first; the ranks of a job at once, named or not, so that what they ask
/// of each other is gathered once.
void Triggers::ask_rules(const TraceStore& store, std::span<const News> news, std::int64_t now_ns,
                         std::vector<Trigger>& out) {
    const auto job = [&](const News* n) -> std::string_view {
        return store.processes()[n->process].labels.job;
    };
    const auto due = [&](const News* n) { return known_[n->source].next_rules_ns; };
    std::vector<const News*> waiting;
    for (const News& n : news)
        if (due(&n) <= now_ns) waiting.push_back(&n);
    std::stable_sort(waiting.begin(), waiting.end(), [&](const News* a, const News* b) {
        return std::make_pair(due(a), job(a)) < std::make_pair(due(b), job(b));
    });
    insights::RankLoads loads;
    const auto begin_ns = static_cast<std::int64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID));
    const auto spent_ns = [&] {
        return static_cast<std::int64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID)) - begin_ns;
    };
    asked_ = 0;
    for (const News* n : waiting) {
        const bool same_job = asked_ > 0 && store.processes()[n->process].labels.rank >= 0 &&
                              job(n) == job(waiting[asked_ - 1]);
        if (asked_ > 0 && !same_job && spent_ns() > options_.rules_ns) break;
        Known& known = known_[n->source];
        known.next_rules_ns = now_ns + kRuleIntervalNs;
        new_rules(known, store, *n, now_ns, loads, out);
        ++asked_;
    }
}

void Triggers::slow_steps(Known& known, const TraceStore& store, const News& news,
                          std::int64_t now_ns, std::vector<Trigger>& out) const {
    const Iterations& its = news.iterations;
    if (its.items.empty()) return;
    const bool looked_for = options_.step_factor > 0 && its.kind == LoopKind::loop;
    if (its.name != known.loop) known.iteration_ms.clear();
    known.loop = its.name;
    known.since_median = kBetweenMedians;
    for (std::size_t n = 0; n < its.items.size(); ++n) {
        const Iteration& i = its.items[n];
        const double ms = i.milliseconds() - news.parts[n].beside_ms();
        if (looked_for && known.iteration_ms.size() >= kLeastIterations) {
            if (known.since_median++ >= kBetweenMedians) {
                std::vector<double> sorted(known.iteration_ms.begin(), known.iteration_ms.end());
                std::sort(sorted.begin(), sorted.end());
                known.median_ms = percentile(sorted, 50);
                // Where one in ten is as long, as with bursts of a loader, that is usual.
                known.slow_ms = std::max(options_.step_factor * known.median_ms,
                                         kBeyondUsual * percentile(sorted, 90));
                known.since_median = 0;
            }
            // Of a loop that was found late the past is not news.
            if (ms > known.slow_ms && now_ns - i.end_ns < kFreshNs)
                out.push_back(
                    {"slow-step",
                     fmt::format("iteration {} of {} took {:.4g} ms, the median is {:.4g} ms",
                                 i.number, title_of(store.processes()[news.process]), ms,
                                 known.median_ms),
                     news.process, i.end_ns});
        }
        known.iteration_ms.push_back(ms);
        if (known.iteration_ms.size() > kRemembered) known.iteration_ms.pop_front();
    }
}

// A process that leaves in order disarms its ring first; what is gone and still armed was killed,
// crashed, or left by _exit().
void Triggers::crash(Known& known, const TraceStore& store, const News& news, std::int64_t now_ns,
                     std::vector<Trigger>& out) const {
    const TraceProcess& process = store.processes()[news.process];
    if (known.reported_dead || !process.service || !process.service->armed) return;
    if (now_ns - process.service->heartbeat_ns < kSilenceNs || !is_gone(process.visible_pid))
        return;
    known.reported_dead = true;
    std::string open;
    for (const OpenSpan& span : store.sources().open_spans())
        if (span.track < store.tracks().size() &&
            store.tracks()[span.track].process == news.process)
            open += fmt::format("{}{}", open.empty() ? ", inside " : " > ", store.name(span.name));
    out.push_back({"crash", fmt::format("{} ended without a clean exit{}", title_of(process), open),
                   news.process, process.service->heartbeat_ns});
}

void Triggers::new_rules(Known& known, const TraceStore& store, const News& news,
                         std::int64_t now_ns, insights::RankLoads& loads,
                         std::vector<Trigger>& out) const {
    if (known.iteration_ms.size() < kLeastIterations) return;
    InsightOptions options{.process = news.process, .loads = &loads};
    options.end_ns = settled_until(store.processes()[news.process], now_ns);
    options.begin_ns = options.end_ns - 2 * kRuleIntervalNs;
    const Insights insights = find_insights(store, options);
    for (const Insight& finding : insights.findings) {
        if (!(finding.share >= options_.least_share)) continue;
        // What a program does from its first minute on is for its author to read; a trace is for
        // what changes.
        if (known.rules.insert(finding.rule).second && known.rules_asked)
            out.push_back(
                {finding.rule,
                 fmt::format("{}: {}", title_of(store.processes()[news.process]), finding.title),
                 news.process, now_ns});
    }
    known.rules_asked = true;
}

}  // namespace gs::serve
