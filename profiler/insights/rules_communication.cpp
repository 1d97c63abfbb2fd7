// R29 exposed communication: collectives that nothing hides.
#include <algorithm>
#include <map>

#include "profiler/analysis/collectives.h"
#include "profiler/insights/ranks.h"
#include "profiler/insights/rules.h"

namespace gs::insights {
namespace {

// Start value, ours: the table of docs/insights.md.
constexpr double kExposedShare = 0.05;  // of the iteration

/// The collectives of one operation.
struct Traffic {
    std::size_t count = 0;
    double bytes = 0, sized_bytes = 0;
    std::int64_t ns = 0, sized_ns = 0;  ///< of all; of those whose bytes and length are known
};

/// "all_reduce 4.0 times, 25.0 MB, 41.2 GB/s": the operations, the longest first.
std::string traffic_text(const Subject& s, const std::vector<Collective>& all) {
    std::map<std::string_view, Traffic> by_operation;
    for (const Collective& c : all) {
        Traffic& t = by_operation[c.operation];
        ++t.count;
        t.ns += c.end_ns - c.begin_ns;
        t.bytes += static_cast<double>(c.bytes);
        if (c.bytes == 0 || c.enqueues) continue;
        t.sized_bytes += static_cast<double>(c.bytes);
        t.sized_ns += c.end_ns - c.begin_ns;
    }
    std::vector<std::pair<std::string_view, Traffic>> sorted(by_operation.begin(),
                                                             by_operation.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    if (sorted.size() > 3) sorted.resize(3);
    std::string out;
    for (const auto& [operation, t] : sorted) {
        out += fmt::format("{}{} {:.1f} times, {:.2f} ms", out.empty() ? "" : "; ", operation,
                           static_cast<double>(t.count) / s.count(), s.per_iteration(t.ns));
        if (t.bytes > 0) out += fmt::format(", {:.2f} MB", t.bytes * 1e-6 / s.count());
        if (t.sized_ns > 0)
            out += fmt::format(", {:.1f} GB/s", t.sized_bytes / static_cast<double>(t.sized_ns));
    }
    return out;
}

/// What R23 reports: how long the process waits for a rank that is slower, beyond the rank that
/// waits least [ms].
double waiting_for_slow(const Subject& s) {
    if (s.traced().labels.rank < 0) return 0;
    gather_job(s);
    const JobLoads loads = jobs_of(s.store, s.loads)[s.traced().labels.job];
    if (loads.size() < 2 || !all_communicate(loads)) return 0;
    const RankLoad& usual = *usual_of(loads);
    if (std::none_of(loads.begin(), loads.end(),
                     [&](const RankLoad* load) { return pace_of(*load, usual) == Pace::slow; }))
        return 0;
    double least = loads.front()->exposed_ms, own = least;
    for (const RankLoad* load : loads) {
        least = std::min(least, load->exposed_ms);
        if (load->process == s.process) own = load->exposed_ms;
    }
    return own - least;
}

/// Those of this process that are within its iterations and on the GPU, or on the host.
std::vector<Collective> of_iterations(const Subject& s, bool gpu) {
    std::vector<Collective> out =
        std::move(collectives(s.store, s.process, {s.whole.begin, s.whole.end})[s.process]);
    std::erase_if(out, [&](const Collective& c) {
        return c.on_gpu != gpu || length_within(s.in_iterations, {c.begin_ns, c.end_ns}) == 0;
    });
    return out;
}

}  // namespace

Answer exposed_communication(const Subject& s) {
    const bool gpu = s.communication.on_gpu;
    const Intervals& all = s.communication.all;
    std::vector<Collective> found = of_iterations(s, gpu);
    if (all.empty())
        return cannot_tell(found.empty() ? "no collective was recorded: neither NCCL's kernels nor "
                                           "ranges such as all_reduce"
                                         : "collectives were recorded, but the loop's thread is "
                                           "never seen to wait for one");
    // What the host waits for while the GPU computes is hidden.
    const Intervals& bare = s.communication.exposed;
    const std::int64_t exposed_ns =
        length_of(bare) - (gpu ? 0 : length_of(intersection_of(bare, s.activity.kernels)));
    const double in_all = s.per_iteration(length_of(all));
    const double bare_ms = s.per_iteration(exposed_ns), waiting = waiting_for_slow(s);
    const double exposed = std::max(0.0, bare_ms - waiting);
    if (!(s.share(exposed) > kExposedShare)) return {};
    Insight i = insight(
        s,
        fmt::format("Exposed communication takes {:.0f} % of an iteration", 100 * s.share(exposed)),
        exposed, Confidence::measured);
    i.text = fmt::format("{} for {:.2f} ms per iteration",
                         gpu ? "Collectives run" : "The process is in collectives", in_all);
    i.text +=
        s.activity.has_gpu
            ? fmt::format("; for {:.2f} ms of it the GPU does nothing else, {:.0f} % is hidden.",
                          bare_ms, 100 * (1 - bare_ms / in_all))
            : fmt::format("; for {:.2f} ms of it the loop waits.", bare_ms);
    if (waiting > 0)
        i.text += fmt::format(" {:.2f} ms of that is waiting for a slow rank (R23).", waiting);
    if (!found.empty()) i.text += fmt::format(" Per iteration: {}.", traffic_text(s, found));
    i.advice =
        "Run it while the backward pass computes (DDP's bucket_cap_mb, FSDP's prefetching, a "
        "stream of its own); send less (bf16 gradients, accumulation under no_sync()); compare the "
        "rate with the link's and the topology that NCCL_DEBUG=INFO prints. Time spent waiting for "
        "a slower rank is part of it (R23).";
    for (const Collective* longest : worst_of(
             found, [](const Collective&) { return true; },
             [](const Collective& x) { return x.end_ns - x.begin_ns; }))
        i.evidence.push_back(
            {longest->track, 0, longest->begin_ns, longest->end_ns,
             fmt::format("{}, {:.3f} ms", longest->operation,
                         static_cast<double>(longest->end_ns - longest->begin_ns) * 1e-6)});
    return {{std::move(i)}, {}};
}

}  // namespace gs::insights
