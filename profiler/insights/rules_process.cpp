// R20 data loading, R22 regression against a baseline, R23 straggling ranks, R24 the profiler's own
// cost.
#include <cmath>

#include "base/record/gpu_windows.h"
#include "profiler/analysis/compare.h"
#include "profiler/insights/ranks.h"
#include "profiler/insights/rules.h"
#include "profiler/store/statistics.h"

namespace gs::insights {
namespace {

// Start values: the table of docs/insights.md; those of our own are marked.
constexpr double kDataShare = 0.05;    // R20, ours, as for other waits
constexpr double kSameKernels = 0.05;  // R23, ours: kernel times that differ by less are equal
constexpr double kSelfCost =
    0.01;  // R24: the profiling service's budget (references: less than 1 %)

}  // namespace

Answer data_loading(const Subject& s) {
    // Where a GPU works meanwhile, loading costs nothing: only its idle time counts.
    const double ms =
        s.activity.has_gpu ? s.gap_ms(GapCause::data) : s.per_iteration(length_of(s.data));
    if (!(s.share(ms) > kDataShare)) return {};
    Insight i = insight(s, "Training waits for data", ms,
                        s.data_inferred ? Confidence::inferred : Confidence::measured);
    i.text =
        s.activity.has_gpu
            ? fmt::format(
                  "The GPU is idle for {:.2f} ms per iteration while the host gets the next batch.",
                  ms)
            : fmt::format("{:.2f} ms per iteration go into getting the next batch.", ms);
    if (s.data_inferred) i.text += " Between iterations, other threads were loading or decoding.";
    i.advice =
        "Use more loader threads or processes (num_workers, persistent_workers, prefetch_factor), "
        "decode once and keep photos in memory or on the GPU, use smaller photos, and request the "
        "next batch before using this one.";
    for (const Interval* at : longest_of(s.data))
        i.evidence.push_back({s.iterations.track, 0, at->begin, at->end,
                              fmt::format("{:.3f} ms, {}", static_cast<double>(at->length()) * 1e-6,
                                          s.iteration_at(at->begin))});
    return {{std::move(i)}, {}};
}

namespace {

// ---- R22

const Iteration& slowest_of(const Subject& s) {
    return *std::ranges::max_element(s.iterations.items, {}, &Iteration::milliseconds);
}
Evidence slowest_iteration(const Subject& s) {
    const Iteration& i = slowest_of(s);
    return {s.iterations.track, 0, i.begin_ns, i.end_ns,
            fmt::format("iteration {}, {:.2f} ms", i.number, i.milliseconds())};
}

/// Against what the same job took before.
Answer regression_against_past(const Subject& s) {
    if (!s.options.past) return cannot_tell("no baseline was given, and no history");
    const std::vector<double> past = s.options.past(s.traced());
    std::vector<double> now;
    for (const Iteration& i : s.iterations.items) now.push_back(i.milliseconds());
    if (past.size() < kLeastSamples || now.size() < kLeastSamples)
        return cannot_tell("the history has too few points of this job yet");
    const Shift shift = shift_of(past, now);
    const double base = median_of(past);
    if (verdict_of(shift, base, CompareOptions().least_effect) != Verdict::slower) return {};
    Insight i = insight(
        s, fmt::format("Iterations take {:.1f} % longer than before", 100 * shift.estimate / base),
        shift.estimate, Confidence::measured);
    i.text = fmt::format(
        "{:.2f} ms against {:.2f} ms, the median of {} earlier points of this job's history; "
        "difference {:.2f} ms, 95 % interval [{:.2f}, {:.2f}].",
        median_of(now), base, past.size(), shift.estimate, shift.low, shift.high);
    i.advice =
        "`gausscope history FILE` shows when it began, which stage is slower and what changed.";
    i.evidence.push_back(slowest_iteration(s));
    return {{std::move(i)}, {}};
}

}  // namespace

Answer regression(const Subject& s) {
    if (s.options.baseline == nullptr) return regression_against_past(s);
    const TraceStore& base = *s.options.baseline;
    std::uint32_t other = 0;
    for (std::uint32_t p = 0; p < base.processes().size(); ++p)
        if (base.processes()[p].name == s.traced().name &&
            base.processes()[p].labels.rank == s.traced().labels.rank)
            other = p;
    CompareSide now{&s.store, s.process, s.whole.begin, s.whole.end, "now"};
    CompareSide then{&base, other, CompareSide{}.begin_ns, CompareSide{}.end_ns, "baseline"};
    const Comparison c = compare(then, now);
    if (c.rows.empty()) return cannot_tell("no iterations were found in the baseline");
    const ComparedRow& whole = c.rows.front();
    if (whole.verdict == Verdict::too_few)
        return cannot_tell("too few iterations to compare with the baseline");
    if (whole.verdict == Verdict::not_quiet) return cannot_tell(quiet_text(c));
    if (whole.verdict != Verdict::slower) return {};
    Insight i = insight(
        s,
        fmt::format("Iterations take {:.1f} % longer than in the baseline", 100 * whole.relative),
        whole.difference_ms, Confidence::measured);
    i.text = fmt::format(
        "{:.2f} ms against {:.2f} ms (median), difference {:.2f} ms, 95 % interval [{:.2f}, "
        "{:.2f}].",
        whole.b.median_ms, whole.a.median_ms, whole.difference_ms, whole.low_ms, whole.high_ms);
    std::size_t said = 0;
    for (const ComparedRow& r : c.rows)
        if (&r != &whole && r.verdict == Verdict::slower && said++ < 4)
            i.text += fmt::format(" {}{}: {:+.2f} ms.",
                                  r.kind == ComparedRow::Kind::gpu_stage ? "GPU " : "", r.name,
                                  r.difference_ms);
    i.advice =
        "Compare the two traces (`gausscope trace BASELINE NOW --compare`): the stages that differ "
        "most come first.";
    i.evidence.push_back(slowest_iteration(s));
    return {{std::move(i)}, {}};
}

// ---- R23

Answer stragglers(const Subject& s) {
    gather_job(s);
    const JobLoads loads = jobs_of(s.store, s.loads)[s.traced().labels.job];
    if (s.traced().labels.rank < 0 || loads.size() < 2)
        return cannot_tell("needs traces of two ranks or more");
    if (!all_communicate(loads))
        return cannot_tell(
            "not every rank shows its communication (ranges such as all_reduce, or NCCL's "
            "kernels): how long each waits for the others is not known");
    const RankLoad& usual = *usual_of(loads);
    const RankLoad* const mine = s.loads[s.process].get();
    if (!(mine->own_ms > 0) || pace_of(*mine, usual) != Pace::slow) {
        const bool clear = std::ranges::none_of(
            loads, [&](const RankLoad* load) { return pace_of(*load, usual) == Pace::unclear; });
        return clear ? Answer{}
                     : cannot_tell(
                           "a rank is slower than the others, but may have waited for a "
                           "CPU as much: the machine was busy");
    }
    const bool on_gpu = mine->kernel_ms > (1 + kSameKernels) * usual.kernel_ms;
    // All ranks wait for this one: an iteration of the job takes as much longer.
    Insight i = insight(s, fmt::format("Rank {} keeps the others waiting", s.traced().labels.rank),
                        mine->own_ms - usual.own_ms, Confidence::measured);
    i.text = fmt::format(
        "Without waiting for others it needs {:.2f} ms per iteration, the usual one of {} ranks "
        "{:.2f} ms.",
        mine->own_ms, loads.size(), usual.own_ms);
    if (s.activity.has_gpu)
        i.text += fmt::format(
            " Its kernels take {:.2f} ms, the usual one's {:.2f} ms: the time is lost on the {}.",
            mine->kernel_ms, usual.kernel_ms, on_gpu ? "GPU" : "host");
    i.advice = on_gpu ? "Its GPU is slower or has more work: clocks and heat (R12), another GPU "
                        "model, an uneven split of the batch or of the splats."
                      : "Its host is slower: data loading, other processes on its cores, NUMA "
                        "placement, logging or checkpoints on this rank only.";
    i.evidence.push_back({mine->track, 0, mine->slowest.begin_ns, mine->slowest.end_ns,
                          fmt::format("iteration {}, {:.2f} ms", mine->slowest.number,
                                      mine->slowest.milliseconds())});
    return {{std::move(i)}, {}};
}

namespace {

// ---- R24 ----

/// Time that recording took from the program, as a share of its time, and what was lost.
struct SelfCost {
    double share = std::numeric_limits<double>::quiet_NaN();
    double budget = kSelfCost;
    double in_calls = 0;  ///< of `share`: by a price that was measured elsewhere
    std::uint64_t lost = 0;
    std::string parts;
};

SelfCost self_cost(const Subject& s) {
    SelfCost out;
    const TraceProcess& p = s.traced();
    auto traced_ns = static_cast<double>(s.store.end_ns() - s.store.begin_ns());
    double ns = 0;
    const auto add = [&](double more, const char* what) {
        if (!(more > 0)) return;
        ns += more;
        out.parts +=
            fmt::format("{}{} {:.1f} ms", out.parts.empty() ? "" : ", ", what, more * 1e-6);
    };
    // What CUPTI's own work took of the program's threads.
    std::int64_t handing = 0;
    for (const TraceTrack& track : s.store.tracks())
        if (track.process == s.process && track.kind == TrackKind::overhead)
            for (const auto& row : track.rows)
                for (const TraceSpan& span : row.view()) {
                    const std::string_view name = s.store.name(span.name);
                    if (name == name_of(OverheadType::buffer_flush) ||
                        name == name_of(OverheadType::instrumentation))
                        handing += span.length_ns();
                }
    if (p.service) {
        // Its totals count from the process's beginning: what came since the store first heard of
        // them, over that time.
        const ServiceStatus& now = *p.service;
        const bool since = p.service_first && p.service_first->heartbeat_ns < now.heartbeat_ns;
        const ServiceStatus first = since ? *p.service_first : ServiceStatus{};
        if (since) traced_ns = static_cast<double>(now.heartbeat_ns - first.heartbeat_ns);
        add(static_cast<double>(now.slow_path_ns - first.slow_path_ns), "new names and lanes");
        add(static_cast<double>(now.service_cpu_ns - first.service_cpu_ns),
            "the service's threads");
        if (p.service->budget > 0) out.budget = p.service->budget;
        out.lost += p.service->cupti_dropped + p.service->budget_skipped;
    }
    out.lost +=
        p.loss.lapped + p.loss.dropped + p.loss.untimed + p.loss.forgotten + p.loss.unexplained;
    const auto kept_ns = static_cast<double>(s.store.end_ns() - s.store.begin_ns());
    // Every piece of GPU work and the call that launched it are a record of CUPTI's.
    const bool cupti = p.service && (p.service->cupti == abi::CuptiState::recording ||
                                     p.service->cupti == abi::CuptiState::paused);
    const double calls_ns =
        cupti ? 2 * service::kCuptiRecordNs * static_cast<double>(s.works.size()) : 0;
    add(calls_ns, "CUPTI in the program's calls");
    if (traced_ns > 0) out.in_calls = calls_ns / traced_ns;
    const double service_share = traced_ns > 0 ? ns / traced_ns : 0;
    add(static_cast<double>(handing), "CUPTI");
    out.share = service_share + (kept_ns > 0 ? static_cast<double>(handing) / kept_ns : 0);
    return out;
}

}  // namespace

Answer own_cost(const Subject& s) {
    const TraceProcess& p = s.traced();
    if (!p.service && p.written == 0 && p.loss.total() == 0)
        return cannot_tell("the trace does not show what recording it cost");
    const SelfCost cost = self_cost(s);
    if (!(cost.share > cost.budget) && cost.lost == 0) return {};
    const double ms = std::isfinite(s.mean_ms) ? cost.share * s.mean_ms
                                               : std::numeric_limits<double>::quiet_NaN();
    Insight i = insight(
        s, cost.share > cost.budget ? "Recording costs more than its budget" : "Records were lost",
        ms, cost.in_calls > 0.5 * cost.share ? Confidence::inferred : Confidence::measured);
    i.text = fmt::format("Recording took {:.2f} % of the traced time", 100 * cost.share);
    i.text += cost.parts.empty()
                  ? "."
                  : fmt::format(" ({}); the budget is {:.1f} %.", cost.parts, 100 * cost.budget);
    if (cost.lost > 0) {
        i.text += fmt::format(" {} records were lost", cost.lost);
        if (p.service && p.service->cupti_dropped > 0)
            i.text += fmt::format(", {} of them by CUPTI", p.service->cupti_dropped);
        if (p.service && p.service->budget_skipped > 0)
            i.text += fmt::format(", {} to keep the budget", p.service->budget_skipped);
        i.text += fmt::format(" of {}: values near them are too low.", p.written + cost.lost);
    }
    i.advice =
        "Set a budget (--budget 1 records GPU work in windows), use fewer ranges per iteration or "
        "a larger ring, or read it more often.";
    i.evidence.push_back({kNoTrack, 0, s.store.begin_ns(), s.store.end_ns(), "the whole trace"});
    return {{std::move(i)}, {}};
}

}  // namespace gs::insights
