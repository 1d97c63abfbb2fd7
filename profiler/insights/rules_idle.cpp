// R1 idle GPU, R2 launch-bound, R15 graphs missing.

#include "base/nth.h"
#include "profiler/insights/rules.h"

namespace gs::insights {
namespace {

// Start values: the table of docs/insights.md.
constexpr double kIdleShare = 0.10;          // R1, of the iteration
constexpr std::int64_t kShortGapNs = 2'000;  // R2: gaps of launching last 2 to 20 us
constexpr double kLaunchGapShare = 0.02;     // R2: less is not worth a change
constexpr double kEmptyQueueShare = 0.5;     // R2: of the kernels start when nothing else is queued
constexpr std::uint32_t kGraphLaunches = 50;  // R15, identical, per iteration
constexpr double kSameSequenceShare = 0.5;    // R15, of the iterations
/// What is left between two kernels of a CUDA graph: about the least gap that counts as one.
constexpr std::int64_t kGraphGapNs = 1'500;

}  // namespace

Answer idle_gpu(const Subject& s) {
    if (!s.activity.has_gpu) return cannot_tell(kNoGpuWork);
    double idle = 0, wall = 0;
    for (const Breakdown& b : s.breakdowns) {
        idle += b.idle_ms / s.count();
        wall += b.wall_ms / s.count();
    }
    if (!(idle > kIdleShare * wall)) return {};
    // Were the GPU never idle, an iteration would take that much less: the gaps, without those that
    // every GPU has.
    double gaps = 0;
    std::string causes;
    std::array<std::pair<double, GapCause>, kGapCauses> by_cause;
    for (std::size_t c = 0; c < kGapCauses; ++c) {
        by_cause[c] = {s.gap_ms(static_cast<GapCause>(c)), static_cast<GapCause>(c)};
        gaps += by_cause[c].first;
    }
    std::ranges::sort(by_cause, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [ms, cause] : by_cause)
        if (ms >= 0.02 * gaps && ms > 0)
            causes +=
                fmt::format("{}{:.2f} ms {}", causes.empty() ? ": " : ", ", ms, text_of(cause));
    Insight i =
        insight(s, fmt::format("The GPU is idle {:.0f} % of an iteration", 100 * idle / wall), gaps,
                Confidence::measured);
    i.text = fmt::format("{:.2f} of {:.2f} ms per iteration{}.", idle, wall, causes);
    i.advice =
        "Keep work queued ahead of the GPU. The largest part above names what delays the host; "
        "separate findings below say what to change. Their times are parts of this one.";
    if (by_cause[0].second == GapCause::host)
        i.advice += " `gausscope record --stacks` names the functions in which the host was.";
    for (const Gap* gap : longest_of(s.gaps))
        i.evidence.push_back(
            {gap->next ? gap->next->track : kNoTrack, gap->next ? gap->next->row : 0, gap->at.begin,
             gap->at.end,
             fmt::format("idle {:.3f} ms {}", static_cast<double>(gap->at.length()) * 1e-6,
                         text_of(gap->cause))});
    return {{std::move(i)}, {}};
}

namespace {

struct Launching {
    double kernel_us = 0, launch_us = 0;  ///< medians; launch_us 0: calls were not recorded
    double gap_ms = 0;                    ///< per iteration, what a graph would leave taken off
    double queue_empty = 0;  ///< share of the kernels that found nothing queued before them
    bool bound = false;
};

double median_us(std::vector<std::int64_t>& ns) {
    return ns.empty() ? 0 : static_cast<double>(upper_median(ns)) * 1e-3;
}

Launching look_at_launches(const Subject& s) {
    Launching out;
    std::vector<std::int64_t> kernels, launches;
    for (const Work& w : s.works)
        if (!w.copies()) kernels.push_back(w.span->length_ns());
    for (const Call& c : s.calls)
        if (c.kind == ApiKind::launch) launches.push_back(c.span->length_ns());
    out.kernel_us = median_us(kernels);
    out.launch_us = median_us(launches);
    // Only gaps count that are as long as launching takes; the queue was empty where one comes
    // before the kernel.
    std::int64_t sum = 0;
    std::size_t empty = 0;
    for (const Gap& gap : s.gaps)
        if (gap.cause == GapCause::launch && gap.at.length() >= kShortGapNs) {
            sum += gap.at.length() - kGraphGapNs;
            ++empty;
        }
    out.gap_ms = s.per_iteration(sum);
    out.queue_empty =
        kernels.empty() ? 0 : static_cast<double>(empty) / static_cast<double>(kernels.size());
    const bool shorter = out.launch_us > 0 && out.kernel_us < out.launch_us;
    out.bound =
        s.share(out.gap_ms) > kLaunchGapShare && (shorter || out.queue_empty > kEmptyQueueShare);
    return out;
}

std::string launch_text(const Launching& l) {
    std::string out = fmt::format(
        "{:.2f} ms per iteration are gaps between kernels as long as a launch; ", l.gap_ms);
    out +=
        l.launch_us > 0
            ? fmt::format(
                  "half of the kernels last less than {:.1f} us, a launch costs the host {:.1f} us",
                  l.kernel_us, l.launch_us)
            : fmt::format("half of the kernels last less than {:.1f} us", l.kernel_us);
    return out + fmt::format("; {:.0f} % of the kernels found nothing queued before them.",
                             100 * l.queue_empty);
}

std::vector<Evidence> launch_gaps(const Subject& s) {
    std::vector<Evidence> out;
    for (const Gap* gap :
         longest_of(s.gaps, [](const Gap& g) { return g.cause == GapCause::launch && g.next; }))
        out.push_back(
            s.evidence(*gap->next, fmt::format("'{}' came {:.1f} us after the GPU ran dry",
                                               s.store.name(gap->next->span->name),
                                               static_cast<double>(gap->at.length()) * 1e-3)));
    return out;
}

}  // namespace

Answer launch_bound(const Subject& s) {
    if (!s.activity.has_gpu) return cannot_tell(kNoGpuWork);
    const Launching l = look_at_launches(s);
    if (!l.bound) return {};
    Insight i = insight(s, "The GPU waits for kernels to be launched", l.gap_ms,
                        l.launch_us > 0 ? Confidence::measured : Confidence::inferred);
    i.text = launch_text(l);
    i.advice =
        "Launch less often: fuse element-wise work (torch.compile, foreach/fused optimizers, one "
        "kernel instead of several), make batches larger, or replay the iteration as a CUDA graph.";
    i.evidence = launch_gaps(s);
    return {{std::move(i)}, {}};
}

namespace {

/// What an iteration launches, in order, as one number; and how many kernels that is.
struct Sequence {
    std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
    std::uint32_t launches = 0;
    bool graph = false;
    void take(std::uint64_t value) { hash = (hash ^ value) * 1099511628211ull; }
};

std::vector<Sequence> sequences_of(const Subject& s) {
    std::vector<Sequence> out(s.iterations.items.size());
    std::size_t at = 0;
    for (const Work& w : s.works) {
        // By the time of the launch where that is known: work of one iteration may run in the next.
        const TraceSpan* launch = s.store.timeline().launching_span(w.track, w.row, *w.span).span;
        const std::int64_t t = launch ? launch->begin_ns : w.span->begin_ns;
        while (at > 0 && t < s.iterations.items[at].begin_ns) --at;
        while (at + 1 < out.size() && t >= s.iterations.items[at].end_ns) ++at;
        const Iteration& item = s.iterations.items[at];
        if (t < item.begin_ns || t >= item.end_ns || w.copies()) continue;
        Sequence& q = out[at];
        q.take(w.span->name);
        if (w.detail != nullptr) {
            for (const std::uint32_t n : w.detail->grid) q.take(n);
            q.graph = q.graph || w.detail->graph != 0 || w.detail->kind == GpuWorkKind::graph;
        }
        ++q.launches;
    }
    return out;
}

}  // namespace

Answer graphs_missing(const Subject& s) {
    if (!s.activity.has_gpu) return cannot_tell(kNoGpuWork);
    const Launching l = look_at_launches(s);
    if (!l.bound) return {};
    std::vector<Sequence> sequences = sequences_of(s);
    std::ranges::sort(sequences, [](const auto& a, const auto& b) { return a.hash < b.hash; });
    std::size_t most = 0, first = 0;
    for (std::size_t i = 0, begin = 0; i < sequences.size(); ++i) {
        if (sequences[i].hash != sequences[begin].hash) begin = i;
        if (i - begin + 1 > most) most = i - begin + 1, first = begin;
    }
    if (most < 2 || static_cast<double>(most) < kSameSequenceShare * s.count()) return {};
    const Sequence& same = sequences[first];
    if (same.launches <= kGraphLaunches || same.graph) return {};
    // A graph's kernels follow each other without the host: what R2 found between them goes, in
    // these iterations.
    const double share = static_cast<double>(most) / s.count();
    Insight i = insight(s, "The same kernels are launched one by one in every iteration",
                        share * l.gap_ms, Confidence::inferred);
    i.text = fmt::format(
        "{} of {} iterations launch the same {} kernels with the same grids in the same order. {}",
        most, sequences.size(), same.launches, launch_text(l));
    i.advice =
        "Capture them once and replay them: torch.cuda.graphs / "
        "torch.compile(mode=\"reduce-overhead\"), or cudaStreamBeginCapture and cudaGraphLaunch. "
        "Shapes and addresses must stay the same; pass changing data through fixed buffers.";
    i.evidence = launch_gaps(s);
    return {{std::move(i)}, {}};
}

}  // namespace gs::insights
