// Subject: one process of a trace as the rules of the insights look at it. Gathered once: its
// iterations and what they went into, the work of its GPUs, its CUDA calls, and why its GPU was
// idle when it was. And Rule, what each of them is. Used by profiler/insights only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/activity.h"
#include "profiler/analysis/breakdown.h"
#include "profiler/analysis/machine_use.h"
#include "profiler/analysis/own_time.h"
#include "profiler/insights/insight.h"
#include "profiler/store/kernel_kinds.h"

namespace gs::insights {

/// A piece of GPU work.
struct Work {
    const TraceSpan* span = nullptr;
    const GpuWork* detail = nullptr;  ///< null: unknown
    std::uint32_t track = kNoTrack;
    std::uint32_t row = 0;
    bool copies() const { return detail != nullptr && is_copy(detail->kind); }
};

/// A call of the CUDA API.
struct Call {
    const TraceSpan* span = nullptr;
    std::uint32_t track = kNoTrack;
    std::uint32_t row = 0;
    ApiKind kind = ApiKind::other;
    bool waits = false;  ///< returns only when the GPU has done what was asked of it
};

/// Why a GPU had nothing to do.
enum class GapCause {
    sync,       ///< the host had waited for it, and then had to come up with new work
    data,       ///< the host was getting the next batch
    driver,     ///< the driver compiled or loaded code
    allocator,  ///< inside cudaMalloc, cudaFree
    copy,       ///< the host was inside a copying call
    launch,     ///< the next launch was on its way: the gap is as long as launching takes
    host,       ///< the host was doing something else
    waiting,    ///< work was launched already and had to wait for other work
    unknown
};
inline constexpr std::size_t kGapCauses = 9;
const char* text_of(GapCause cause);

/// Of overhead's names: the driver compiles or loads kernels.
bool loads_code(std::string_view overhead);

struct Gap {
    Interval at;
    GapCause cause = GapCause::unknown;
    const Call* call = nullptr;  ///< that caused it, where one did
    const Work* next = nullptr;  ///< what ended it
};

struct Subject {
    Subject(const TraceStore& store, std::uint32_t process, const InsightOptions& options,
            RankLoads& loads);
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;

    const TraceStore& store;
    const InsightOptions& options;
    RankLoads& loads;
    std::uint32_t process;
    Iterations iterations;  ///< those looked at: within the options' stretch, warm-up left out
    std::vector<Breakdown> breakdowns;  ///< of them
    Interval whole;                     ///< from the first one's begin to the last one's end
    Intervals in_iterations;            ///< of `whole`, what iterations are
    double iteration_ms = 0;            ///< median
    double mean_ms = 0;                 ///< whole of the times per iteration, which are also means
    ProcessActivity activity;
    MachineUse machine;           ///< what it gave the process meanwhile
    std::vector<Work> works;      ///< by begin
    Communication communication;  ///< within the iterations
    std::vector<Call>
        calls;  ///< by begin; of the runtime, and of the driver where it was called directly
    std::vector<Gap> gaps;  ///< by begin; those that any GPU leaves between kernels are left out
    Intervals
        data;  ///< the iterations' thread gets data, or it is between iterations and others do
    bool data_inferred = false;
    std::array<double, kStageCount> gpu_ms{}, cpu_ms{};  ///< means per iteration
    bool on_gpu = false;                                 ///< stages are timed on the GPU

    double count() const { return static_cast<double>(iterations.items.size()); }
    /// Nanoseconds over all iterations -> milliseconds per iteration.
    double per_iteration(double ns) const { return ns * 1e-6 / count(); }
    double per_iteration(std::int64_t ns) const { return per_iteration(static_cast<double>(ns)); }
    double share(double ms) const { return ms / mean_ms; }
    /// Mean time of a stage per iteration, where stages are timed.
    double stage_ms(Stage stage) const {
        return (on_gpu ? gpu_ms : cpu_ms)[static_cast<std::size_t>(stage)];
    }
    const TraceProcess& traced() const { return store.processes()[process]; }
    bool inside(std::int64_t t) const { return whole.begin <= t && t < whole.end; }
    double gap_ms(GapCause cause) const;
    /// When at least one piece of the GPU's work ran for which `counts`, within `whole`.
    template <class Counts>
    Intervals when(const Counts& counts) const {
        Intervals out;
        for (const Work& w : works)
            if (counts(w))
                append(out, {std::max(whole.begin, w.span->begin_ns),
                             std::min(whole.end, w.span->end_ns)});
        return out;
    }
    /// A kernel that moves data between ranks.
    bool communicates(const Work& w) const {
        return store.names().gpu_kind(w.span->name) == kCommunicationKind;
    }
    /// The number of the iteration at t: its number in the program, for texts.
    std::string iteration_at(std::int64_t t) const;
    /// The innermost range of the thread that made `call`; empty when none was open.
    std::string caller_of(const Call& call) const;
    Evidence evidence(const Work& work, std::string text) const;
    Evidence evidence(const Call& call, std::string text) const;

  private:
    void choose_iterations();
    void gather_works();
    void gather_calls();
    void gather_data();
    void gather_stages();
    void classify_gaps();
    Gap explained(const Interval& at, const Work* next, const std::vector<const Call*>& active,
                  const Intervals& driver) const;
};

/// What a rule says: findings, or why it cannot tell. Neither: it was asked and found nothing.
struct Answer {
    std::vector<Insight> found;
    std::string unanswered;
};
inline Answer cannot_tell(std::string why) { return {{}, std::move(why)}; }
inline constexpr const char* kNoGpuWork = "no GPU work was recorded";
inline constexpr const char* kNoIterations =
    "no iterations found: put an NVTX range called \"iteration\" around the body of the loop";

/// An Insight with its recoverable time per iteration and that time's share.
Insight insight(const Subject& subject, std::string title, double recoverable_ms,
                Confidence confidence);
inline constexpr std::size_t kMostEvidence = 8;
/// Pointers to the worst of `items` for which `counts`, by `cost`, the worst first.
template <class Item, class Counts, class Cost>
std::vector<const Item*> worst_of(const std::vector<Item>& items, const Counts& counts,
                                  const Cost& cost) {
    std::vector<const Item*> out;
    for (const Item& item : items)
        if (counts(item)) out.push_back(&item);
    const std::size_t kept = std::min(kMostEvidence, out.size());
    std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(kept), out.end(),
                      [&](const Item* a, const Item* b) { return cost(*a) > cost(*b); });
    out.resize(kept);
    return out;
}
/// The longest of `items` for which `counts`, the longest first.
template <class Item, class Counts = bool (*)(const Item&)>
std::vector<const Item*> longest_of(
    const std::vector<Item>& items, const Counts& counts = [](const Item&) { return true; }) {
    return worst_of(items, counts, [](const Item& item) {
        if constexpr (requires { item.span; })
            return item.span->length_ns();
        else if constexpr (requires { item.at; })
            return item.at.length();
        else
            return item.length();
    });
}

}  // namespace gs::insights
