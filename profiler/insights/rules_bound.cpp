// R9 memory-bound, R10 compute-bound, R11 latency-bound: from counters of the GPU (NVML's GPM, or a
// trace's own), or for our own renderer from the cost model's floors.
#include <cmath>
#include <optional>

#include "profiler/insights/gpu_counters.h"
#include "profiler/insights/rules.h"

namespace gs::insights {
namespace {

// Start values: the table of docs/insights.md.
constexpr double kBound = 0.60;    // of a peak
constexpr double kLatency = 0.40;  // below this of either: neither limits
constexpr double kFewWarps = 0.5;  // R11
constexpr double kStageShare =
    0.05;  // ours: stages below this share of an iteration are not looked at

constexpr const char* kNoCounters =
    "needs GPU counters: NVML's GPM (Hopper or newer, no privileges; recorded where available), or "
    "gausscope's own renderer and measured machine limits";

constexpr const char* kNoLimits =
    "needs this machine's limits: run limits.measure in the studio, for its own training";

enum class Bound { memory, compute, latency };

/// A stage of ours against the least time this machine needs for it.
struct StageBound {
    Stage stage = Stage::other;
    double measured_ms = 0, floor_ms = 0;
    CostLimit limit = CostLimit::none;
    double reached() const { return floor_ms / measured_ms; }
    Bound bound() const {
        if (reached() < kLatency) return Bound::latency;
        return limit == CostLimit::memory ? Bound::memory : Bound::compute;
    }
    bool says_something() const { return reached() > kBound || reached() < kLatency; }
};

std::vector<StageBound> stages_of(const Subject& s) {
    std::vector<StageBound> out;
    for (const StageFloor& floor : s.options.floors) {
        // What threads waited for a CPU is nothing that the stage could do without.
        const double ms = s.stage_ms(floor.stage) * (s.on_gpu ? 1 : 1 - s.machine.doubt());
        if (std::isfinite(floor.floor_ms) && floor.work.counted && s.share(ms) >= kStageShare &&
            ms > 0)
            out.push_back({floor.stage, ms, std::min(floor.floor_ms, ms), floor.limit});
    }
    return out;
}

Evidence stage_evidence(const Subject& s, const StageBound& b) {
    return {s.iterations.track, 0, s.iterations.items.back().begin_ns,
            s.iterations.items.back().end_ns,
            fmt::format("{}: {:.3f} ms, {:.3f} ms at the limit of {}", name_of(b.stage),
                        b.measured_ms, b.floor_ms, name_of(b.limit))};
}

const char* title_of(Bound bound) {
    switch (bound) {
        case Bound::memory:
            return "limited by memory bandwidth";
        case Bound::compute:
            return "limited by arithmetic";
        case Bound::latency:
            return "limited by neither memory nor arithmetic: they wait";
    }
    return "";
}

const char* advice_on_cpu(Bound bound) {
    switch (bound) {
        case Bound::memory:
            return "Move fewer bytes: visit only visible Gaussians, fuse loops that share arrays "
                   "while they are in the cache, store data that is used together side by side.";
        case Bound::compute:
            return "Do less arithmetic: skip work early (tighter tile bounds, earlier termination, "
                   "a test before the exponential), and use full vectors (R28).";
        case Bound::latency:
            return "Keep every thread busy (R26, R27), store data in the order it is read, use "
                   "blocks that fit the caches, and avoid unpredictable branches.";
    }
    return "";
}

const char* advice_of(const Subject& s, Bound bound) {
    if (!s.activity.has_gpu) return advice_on_cpu(bound);
    switch (bound) {
        case Bound::memory:
            return "Move fewer bytes: fuse kernels that share arrays, use half precision where "
                   "possible and structures of arrays, and process only visible Gaussians.";
        case Bound::compute:
            return "Do less arithmetic: skip work early (tighter tile bounds, earlier "
                   "termination), use cheaper approximations, and tensor cores where possible.";
        case Bound::latency:
            return "Give the GPU more parallel work: more warps in flight (R7), larger grids (R8), "
                   "independent loads before their use, fewer barriers and atomics on the same "
                   "address.";
    }
    return "";
}

/// What can be won: down to the floor where a resource is the limit; where none is, up to the reach
/// that the rules call bound, since nobody gets all.
double gain_of(const StageBound& b) {
    return b.bound() == Bound::latency
               ? b.measured_ms - std::min(b.measured_ms, b.floor_ms / kBound)
               : b.measured_ms - b.floor_ms;
}

Answer from_model(const Subject& s, Bound wanted) {
    std::vector<StageBound> stages = stages_of(s);
    std::erase_if(stages,
                  [&](const StageBound& b) { return b.bound() != wanted || !b.says_something(); });
    if (stages.empty()) return {};
    if (!s.on_gpu && s.machine.doubt() > kBusyMachine) return not_quiet(s);
    std::sort(stages.begin(), stages.end(),
              [](const StageBound& a, const StageBound& b) { return gain_of(a) > gain_of(b); });
    double gain = 0;
    std::string names;
    for (const StageBound& b : stages) {
        gain += gain_of(b);
        names += fmt::format("{}{} at {:.0f} % of what {} allows ({:.2f} of {:.2f} ms)",
                             names.empty() ? "" : ", ", name_of(b.stage), 100 * b.reached(),
                             name_of(b.limit), b.floor_ms, b.measured_ms);
    }
    Insight i = insight(s, fmt::format("Stages {}", title_of(wanted)), gain, Confidence::inferred);
    i.text = names + ". From the counts of a step and the machine's measured limits.";
    i.advice = advice_of(s, wanted);
    for (const StageBound& b : stages) i.evidence.push_back(stage_evidence(s, b));
    if (i.evidence.size() > kMostEvidence) i.evidence.resize(kMostEvidence);
    return {{std::move(i)}, {}};
}

/// Means of the GPU's counters over the iterations: of the GPU as a whole, not of a kernel.
struct KernelCounters {
    double memory = 0, compute = 0, occupancy = 0;
    bool compute_known = false;
};

std::optional<KernelCounters> counters_of(const Subject& s) {
    KernelCounters c{.memory = counter_mean(s, GpuCounter::memory),
                     .occupancy = counter_mean(s, GpuCounter::occupancy)};
    for (const GpuCounter unit : {GpuCounter::throughput, GpuCounter::tensor})
        if (const double share = counter_mean(s, unit); std::isfinite(share)) {
            c.compute = std::max(c.compute, share);
            // Busy tensor cores say that arithmetic is the limit; idle ones do not say that it is
            // not.
            c.compute_known = c.compute_known || unit == GpuCounter::throughput || share > kBound;
        }
    return std::isfinite(c.memory) ? std::optional(c) : std::nullopt;
}

std::optional<Bound> bound_of(const KernelCounters& c) {
    if (c.memory > kBound && c.memory >= c.compute) return Bound::memory;
    if (c.compute > kBound) return Bound::compute;
    const bool few_warps = !std::isfinite(c.occupancy) || c.occupancy < kFewWarps;
    if (c.memory < kLatency && c.compute < kLatency && few_warps) return Bound::latency;
    return std::nullopt;
}

Answer from_counters(const Subject& s, const KernelCounters& c, Bound wanted) {
    if (wanted == Bound::compute && !c.compute_known)
        return cannot_tell("these counters do not show how busy the arithmetic units are");
    if (bound_of(c) != wanted) return {};
    double busy = 0;
    for (const Breakdown& b : s.breakdowns)
        busy += (s.activity.has_gpu ? b.busy_ms : b.wall_ms) / s.count();
    if (s.communication.on_gpu)  // that is R29's
        busy = std::max(0.0, busy - s.per_iteration(length_of(s.communication.exposed)));
    // The busy time cannot shrink below what the used share of the peak needs; where nothing
    // limits, nobody gets above the share that the rules call bound.
    const double reached = std::max(c.memory, c.compute);
    const double gain = busy * (1 - reached / (wanted == Bound::latency ? kBound : 1));
    Insight i = insight(s, fmt::format("The GPU's kernels are {}", title_of(wanted)), gain,
                        Confidence::inferred);
    i.text = fmt::format("While iterations ran, device memory moved {:.0f} % of its peak",
                         100 * c.memory);
    if (c.compute > 0)
        i.text += fmt::format(", the busiest arithmetic units worked {:.0f} % of the time",
                              100 * c.compute);
    if (std::isfinite(c.occupancy))
        i.text += fmt::format(", {:.0f} % of the possible warps were resident", 100 * c.occupancy);
    i.text += " (means of the GPU's counters).";
    i.advice = advice_of(s, wanted);
    i.evidence.push_back({kNoTrack, 0, s.whole.begin, s.whole.end, "the iterations averaged"});
    return {{std::move(i)}, {}};
}

Answer ask(const Subject& s, Bound wanted) {
    if (const auto counters = counters_of(s)) return from_counters(s, *counters, wanted);
    if (!s.options.floors.empty()) return from_model(s, wanted);
    if (!s.activity.has_gpu) return cannot_tell(kNoLimits);
    const std::string why = why_no_counters(s);
    return cannot_tell(why.empty() ? kNoCounters : why);
}

}  // namespace

Answer memory_bound(const Subject& s) { return ask(s, Bound::memory); }
Answer compute_bound(const Subject& s) { return ask(s, Bound::compute); }
Answer latency_bound(const Subject& s) { return ask(s, Bound::latency); }

}  // namespace gs::insights
