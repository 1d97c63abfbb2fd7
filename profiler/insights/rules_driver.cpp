// R12 clocks, R13 compiling and loading in the loop, R14 full command buffers: what the driver and
// the device do.
#include <cmath>

#include "profiler/insights/gpu_counters.h"
#include "profiler/insights/rules.h"
#include "profiler/store/node_gpus.h"

namespace gs::insights {
namespace {

// Start values: the table of docs/insights.md; those of our own are marked.
constexpr double kLowClock = 0.90;        // R12, of the boost clock
constexpr double kOverheadShare = 0.002;  // R13, R14, ours: of the iteration

/// The highest clock of the process's GPUs, MHz; NaN: unknown.
double boost_mhz(const Subject& s) {
    int khz = 0;
    for (const GpuDeviceEvent& d : s.traced().devices) khz = std::max(khz, d.clock_khz);
    return khz > 0 ? khz * 1e-3 : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Answer clocks(const Subject& s) {
    const auto points = counter_points(s, GpuCounter::clock_mhz);
    const auto throttle = counter_points(s, GpuCounter::throttle);
    if (points.empty() && throttle.empty()) {
        const std::string why = why_no_counters(s);
        return cannot_tell(!why.empty() ? why
                           : s.activity.has_gpu
                               ? "clocks were not recorded (gausscope takes them from NVML)"
                               : kNoGpuWork);
    }
    std::uint64_t bits = 0;
    std::size_t held = 0;
    for (const CounterPoint& p : throttle) {
        const auto reasons = static_cast<std::uint64_t>(std::max(0.0, p.value));
        bits |= reasons;
        held += reasons != 0;
    }
    const double clock = counter_mean(s, GpuCounter::clock_mhz), boost = boost_mhz(s),
                 reached = clock / boost;
    const bool slow = reached < kLowClock;
    if (held == 0 && !slow) return {};
    double busy = 0;
    for (const Breakdown& b : s.breakdowns) busy += b.busy_ms / s.count();
    // Kernels take as many cycles at any clock, those that wait for memory aside: at the boost
    // clock that much less.
    const double gain = s.activity.has_gpu && std::isfinite(reached)
                            ? busy * std::max(0.0, 1 - reached)
                            : std::numeric_limits<double>::quiet_NaN();
    Insight i = insight(s, "The GPU runs below its clock", gain, Confidence::inferred);
    if (std::isfinite(clock)) i.text = fmt::format("The multiprocessors ran at {:.0f} MHz", clock);
    if (std::isfinite(reached))
        i.text += fmt::format(", {:.0f} % of {:.0f} MHz", 100 * reached, boost);
    if (held > 0)
        i.text += fmt::format("{} of {} samples name a reason: {}",
                              i.text.empty() ? std::to_string(held) : fmt::format("; {}", held),
                              throttle.size(), throttle_words(bits));
    i.text += ".";
    i.advice =
        "Power cap: nvidia-smi -q -d POWER, -pl raises it where allowed. Heat: airflow. Clocks set "
        "by hand: nvidia-smi -rgc. Until then compare runs in cycles, not in seconds.";
    const auto slowest = std::ranges::min_element(points, {}, &CounterPoint::value);
    if (slowest != points.end())
        i.evidence.push_back({kNoTrack, 0, slowest->time_ns, slowest->time_ns + 1'000'000,
                              fmt::format("{:.0f} MHz", slowest->value)});
    for (const CounterPoint& p : throttle)
        if (p.value > 0 && i.evidence.size() < kMostEvidence)
            i.evidence.push_back({kNoTrack, 0, p.time_ns, p.time_ns + 1'000'000,
                                  throttle_words(static_cast<std::uint64_t>(p.value))});
    return {{std::move(i)}, {}};
}

namespace {

struct Overhead {
    const TraceSpan* span = nullptr;
    std::uint32_t track = 0;
    std::uint32_t row = 0;
};

template <class Wanted>
std::vector<Overhead> overheads(const Subject& s, const Wanted& wanted) {
    std::vector<Overhead> out;
    for (std::uint32_t t = 0; t < s.store.tracks().size(); ++t) {
        const TraceTrack& track = s.store.tracks()[t];
        if (track.process != s.process || track.kind != TrackKind::overhead) continue;
        for (std::uint32_t r = 0; r < track.rows.size(); ++r)
            for (const TraceSpan& span :
                 spans_within(track.rows[r].view(), s.whole.begin, s.whole.end))
                if (wanted(s.store.name(span.name))) out.push_back({&span, t, r});
    }
    return out;
}

bool has_overheads(const Subject& s) {
    return s.activity.has_api || std::ranges::any_of(s.store.tracks(), [&](const TraceTrack& t) {
               return t.process == s.process && t.kind == TrackKind::overhead;
           });
}

/// One finding for overhead of a kind: the host's thread stands still in it, so all of it counts.
Answer overhead_answer(const Subject& s, const std::vector<Overhead>& found, const char* title,
                       const char* advice) {
    std::int64_t ns = 0;
    for (const Overhead& o : found) ns += o.span->length_ns();
    const double ms = s.per_iteration(ns);
    if (found.empty() || s.share(ms) < kOverheadShare) return {};
    Insight i = insight(s, title, ms, Confidence::measured);
    i.text = fmt::format("{} times in {} iterations, {:.2f} ms in all.", found.size(),
                         s.iterations.items.size(), static_cast<double>(ns) * 1e-6);
    i.advice = advice;
    for (const Overhead* o : longest_of(found))
        i.evidence.push_back({o->track, o->row, o->span->begin_ns, o->span->end_ns,
                              fmt::format("{}, {:.3f} ms, {}", s.store.name(o->span->name),
                                          static_cast<double>(o->span->length_ns()) * 1e-6,
                                          s.iteration_at(o->span->begin_ns))});
    return {{std::move(i)}, {}};
}

constexpr const char* kNoOverheads = "the driver's own time was not recorded (needs CUPTI)";

}  // namespace

Answer compiling(const Subject& s) {
    if (!has_overheads(s)) return cannot_tell(kNoOverheads);
    return overhead_answer(
        s, overheads(s, loads_code), "The driver compiles or loads kernels inside iterations",
        "Build for this GPU's architecture (TORCH_CUDA_ARCH_LIST, -gencode) so that nothing is "
        "compiled from PTX; load early with CUDA_MODULE_LOADING=EAGER or a warm-up step for every "
        "shape; pad shapes so that torch.compile and Triton reuse compiled kernels.");
}

Answer command_buffer(const Subject& s) {
    if (!has_overheads(s)) return cannot_tell(kNoOverheads);
    const auto wanted = [](std::string_view name) {
        return name == name_of(OverheadType::command_buffer_full);
    };
    return overhead_answer(
        s, overheads(s, wanted), "Launches wait because the GPU's command buffer is full",
        "The host is far ahead of the GPU, which by itself is good. Launch less often (fuse, CUDA "
        "graphs), use fewer streams, or let the host work on something else meanwhile.");
}

}  // namespace gs::insights
