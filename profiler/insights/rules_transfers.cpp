// R3 synchronisation stalls, R4 pageable copies, R5 copies that are not overlapped, R6 allocation
// in the loop.
#include <map>

#include "profiler/insights/rules.h"

namespace gs::insights {
namespace {

// Start values: the table of docs/insights.md; those of our own are marked.
constexpr double kSyncShare = 0.05;                // R3, of the iteration
constexpr std::uint64_t kScalarBytes = 16;         // R3: what .item() and nonzero() fetch
constexpr std::uint64_t kStagedBytes = 64 * 1024;  // R4: copies up to here are staged without a
                                                   // wait (CUDA's rules of synchronous behaviour)
constexpr double kCopyAloneShare = 0.03;           // R4, R5, ours
constexpr double kLinkShare = 0.5;                 // R5, of the link's peak
constexpr std::uint64_t kLargeCopy = 1 << 20;      // R5: smaller ones are latency, not bandwidth
constexpr double kAllocatorShare = 0.01;           // R6, ours: of the iteration
constexpr double kAllocationsPerIteration = 1;     // R6, ours: caching allocators come down to none

/// "cudaStreamSynchronize in 'ProfilerStep'": one caller, whatever number its ranges bear.
std::string with_caller(std::string_view what, std::string_view caller) {
    if (const std::size_t end = caller.find_last_not_of("0123456789");
        end != std::string_view::npos && end + 1 < caller.size() && caller[end] == '#')
        caller = caller.substr(0, end);
    return caller.empty() ? std::string(what) : fmt::format("{} in '{}'", what, caller);
}

double ms_of(const TraceSpan& span) { return static_cast<double>(span.length_ns()) * 1e-6; }
Evidence call_evidence(const Subject& s, const Call& call) {
    const std::string name = with_caller(s.store.name(call.span->name), s.caller_of(call));
    return s.evidence(call, fmt::format("{}, {:.3f} ms", name, ms_of(*call.span)));
}

/// "cudaStreamSynchronize in 'loss' 12 times": who waits, the most costly first.
std::string callers_of(const Subject& s, const std::vector<const Call*>& waits) {
    std::map<std::string, std::pair<std::int64_t, std::size_t>> by_caller;
    for (const Call* c : waits) {
        auto& [ns, count] = by_caller[with_caller(s.store.name(c->span->name), s.caller_of(*c))];
        ns += c->span->length_ns();
        ++count;
    }
    std::vector<std::pair<std::string, std::pair<std::int64_t, std::size_t>>> sorted(
        by_caller.begin(), by_caller.end());
    std::ranges::sort(sorted,
                      [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, sorted.size()); ++i)
        out +=
            fmt::format("{}{} ({:.1f} times, {:.2f} ms per iteration)", i ? ", " : "",
                        sorted[i].first, static_cast<double>(sorted[i].second.second) / s.count(),
                        s.per_iteration(sorted[i].second.first));
    return out;
}

/// Copies of a few bytes to the host, per iteration: a scalar that Python asked for.
double scalar_fetches(const Subject& s) {
    std::size_t count = 0;
    for (const Work& w : s.works)
        if (w.detail && w.detail->kind == GpuWorkKind::copy && w.detail->bytes <= kScalarBytes &&
            (w.detail->target == MemoryType::pageable || w.detail->target == MemoryType::pinned))
            ++count;
    return static_cast<double>(count) / s.count();
}

}  // namespace

Answer sync_stalls(const Subject& s) {
    if (!s.activity.has_api && s.activity.sync.empty())
        return cannot_tell(
            "no CUDA calls were recorded (the injection library records them where CUPTI is free)");
    const auto counts = [](const Call& c) { return c.waits && c.kind != ApiKind::release; };
    std::vector<const Call*> waits;
    Intervals waiting;
    for (const Call& c : s.calls)
        if (counts(c)) {
            waits.push_back(&c);
            append(waiting, {std::max(s.whole.begin, c.span->begin_ns),
                             std::min(s.whole.end, c.span->end_ns)});
        }
    const double sync = s.per_iteration(length_of(union_of(waiting, s.activity.sync)));
    if (!(s.share(sync) > kSyncShare)) return {};
    // The wait itself is the GPU's work, which stays. What goes is the time after it, in which the
    // GPU has nothing to do until the host has launched again. Without GPU work that cannot be
    // seen.
    const double after =
        s.activity.has_gpu ? s.gap_ms(GapCause::sync) : std::numeric_limits<double>::quiet_NaN();
    Insight i = insight(s,
                        fmt::format("The host waits for the GPU {:.1f} times an iteration",
                                    static_cast<double>(waits.size()) / s.count()),
                        after, Confidence::measured);
    i.text =
        fmt::format("{:.2f} ms per iteration are spent waiting: {}.", sync, callers_of(s, waits));
    if (s.activity.has_gpu)
        i.text += fmt::format(" After these waits the GPU is idle for {:.2f} ms.", after);
    const double scalars = scalar_fetches(s);
    if (scalars >= 0.5)
        i.text += fmt::format(" {:.1f} copies an iteration bring {} bytes or less to the host.",
                              scalars, kScalarBytes);
    i.advice = scalars >= 0.5 ? "Small copies to the host are .item(), .cpu(), float(loss), "
                                "nonzero() or boolean indexing: keep the value on the GPU, fetch "
                                "it every n-th iteration, or copy it with non_blocking=True into "
                                "pinned memory and read it an iteration later."
                              : "Drop cudaDeviceSynchronize and torch.cuda.synchronize() from the "
                                "loop, wait for events instead of "
                                "streams, and read results an iteration later.";
    for (const Call* c : longest_of(s.calls, counts)) i.evidence.push_back(call_evidence(s, *c));
    return {{std::move(i)}, {}};
}

namespace {

bool pageable(const Work& w) {
    return w.detail != nullptr && w.detail->kind == GpuWorkKind::copy &&
           w.detail->bytes > kStagedBytes &&
           (w.detail->source == MemoryType::pageable || w.detail->target == MemoryType::pageable);
}

bool across_the_link(const Work& w) {
    if (w.detail == nullptr || w.detail->kind != GpuWorkKind::copy) return false;
    const auto on_host = [](MemoryType m) {
        return m == MemoryType::pageable || m == MemoryType::pinned;
    };
    return on_host(w.detail->source) != on_host(w.detail->target);
}

/// Time of these copies during which no kernel ran, per iteration.
template <class Counts>
double alone_ms(const Subject& s, const Counts& counts) {
    const Intervals copies = s.when(counts);
    return s.per_iteration(length_of(copies) -
                           length_of(intersection_of(copies, s.activity.kernels)));
}

Evidence copy_evidence(const Subject& s, const Work& w) {
    const double seconds = static_cast<double>(w.span->length_ns()) * 1e-9;
    const double bytes = static_cast<double>(w.detail->bytes);
    return s.evidence(
        w, fmt::format("{}, {:.2f} MB in {:.3f} ms, {:.1f} GB/s", s.store.name(w.span->name),
                       bytes * 1e-6, seconds * 1e3, bytes * 1e-9 / seconds));
}

bool has_copy_details(const Subject& s) {
    return std::ranges::any_of(s.works, [](const Work& w) { return w.detail != nullptr; });
}

constexpr const char* kNoCopyDetails =
    "the trace does not distinguish copies from kernels (recorded without CUPTI)";

}  // namespace

Answer pageable_copies(const Subject& s) {
    if (!s.activity.has_gpu) return cannot_tell(kNoGpuWork);
    if (!has_copy_details(s)) return cannot_tell(kNoCopyDetails);
    std::size_t count = 0;
    double bytes = 0;
    for (const Work& w : s.works)
        if (pageable(w) && w.detail->asynchronous)
            ++count, bytes += static_cast<double>(w.detail->bytes);
    if (count == 0) return {};
    // From pinned memory the copy runs beside kernels: the time in which none did can be saved, and
    // the wait after it.
    const double alone = alone_ms(s, pageable) + s.gap_ms(GapCause::copy);
    Insight i = insight(s, "Asynchronous copies run synchronously: the host's memory is pageable",
                        alone, Confidence::measured);
    i.text = fmt::format(
        "{:.1f} copies and {:.2f} MB an iteration; for {:.2f} ms per iteration no kernel runs "
        "during them or in the gap after them.",
        static_cast<double>(count) / s.count(), bytes * 1e-6 / s.count(), alone);
    i.advice =
        "Pin the memory: DataLoader(pin_memory=True) with .to(device, non_blocking=True), "
        "tensor.pin_memory(), cudaHostAlloc or cudaHostRegister; then copy on a separate stream.";
    for (const Work* w : longest_of(s.works, pageable)) i.evidence.push_back(copy_evidence(s, *w));
    return {{std::move(i)}, {}};
}

namespace {

/// Peak of the link to the host in one direction, bytes a second, by the generation of the GPU:
/// PCIe 3 x16, 4 x16, 5 x16 as the vendor's data sheets have them.
double link_peak(const Subject& s) {
    int newest = 0;
    for (const GpuDeviceEvent& d : s.traced().devices)
        newest = std::max(newest, 10 * d.compute_major + d.compute_minor);
    if (newest == 0) return std::numeric_limits<double>::quiet_NaN();
    return newest >= 90 ? 63e9 : newest >= 80 ? 31.5e9 : 15.75e9;
}

/// Mean rate of the large copies between host and device; NaN without any.
double link_rate(const Subject& s) {
    double bytes = 0, seconds = 0;
    for (const Work& w : s.works)
        if (across_the_link(w) && w.detail->bytes >= kLargeCopy && !pageable(w)) {
            bytes += static_cast<double>(w.detail->bytes);
            seconds += static_cast<double>(w.span->length_ns()) * 1e-9;
        }
    return seconds > 0 ? bytes / seconds : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Answer copies_alone(const Subject& s) {
    if (!s.activity.has_gpu) return cannot_tell(kNoGpuWork);
    if (!has_copy_details(s)) return cannot_tell(kNoCopyDetails);
    // Pageable ones are R4's. Hidden behind kernels, the rest costs nothing: what ran alone can be
    // saved.
    const auto counts = [](const Work& w) { return w.copies() && !pageable(w); };
    const double alone = alone_ms(s, counts);
    const double rate = link_rate(s), peak = link_peak(s);
    const bool slow = rate < kLinkShare * peak;
    if (!(s.share(alone) > kCopyAloneShare)) return {};
    Insight i = insight(s, "Copies run while no kernel does", alone, Confidence::measured);
    i.text =
        fmt::format("{:.2f} ms per iteration are copies and fills that nothing overlaps.", alone);
    if (slow)
        i.text += fmt::format(
            " Between host and device they reach {:.1f} GB/s, {:.0f} % of the link's nominal rate.",
            rate * 1e-9, 100 * rate / peak);
    i.advice =
        "Copy the next batch on a separate stream while this one computes (prefetch, "
        "record_stream); merge small copies into one buffer.";
    if (slow)
        i.advice +=
            " A slow link: check the number of PCIe lanes, NUMA placement, and the size of the "
            "pieces.";
    for (const Work* w : longest_of(s.works, counts)) i.evidence.push_back(copy_evidence(s, *w));
    return {{std::move(i)}, {}};
}

Answer allocator_churn(const Subject& s) {
    if (!s.activity.has_api) return cannot_tell("no CUDA calls were recorded");
    const auto counts = [](const Call& c) {
        return c.kind == ApiKind::allocate || c.kind == ApiKind::release;
    };
    std::int64_t ns = 0;
    std::size_t count = 0;
    for (const Call& c : s.calls)
        if (counts(c)) ns += c.span->length_ns(), ++count;
    const double per_iteration = static_cast<double>(count) / s.count();
    const double inside = s.per_iteration(ns);
    if (!(s.share(inside) > kAllocatorShare || per_iteration >= kAllocationsPerIteration))
        return {};
    // What the host spends there counts as far as the GPU runs dry meanwhile: the gaps that it
    // causes.
    const double gaps = s.activity.has_gpu ? s.gap_ms(GapCause::allocator) : inside;
    Insight i = insight(
        s,
        fmt::format("Device memory is allocated or freed {:.1f} times an iteration", per_iteration),
        gaps, s.activity.has_gpu ? Confidence::measured : Confidence::inferred);
    i.text = fmt::format("The host spends {:.2f} ms per iteration in these calls", inside);
    i.text += s.activity.has_gpu
                  ? fmt::format("; the GPU is idle for {:.2f} ms because of them.", gaps)
                  : ".";
    i.advice =
        "cudaFree waits for the whole device. Allocate once and reuse: grow buffers by high-water "
        "mark, use the caching allocator (no empty_cache() in the loop; "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where sizes vary), or cudaMallocAsync "
        "with a release threshold.";
    for (const Call* c : longest_of(s.calls, counts)) i.evidence.push_back(call_evidence(s, *c));
    return {{std::move(i)}, {}};
}

}  // namespace gs::insights
