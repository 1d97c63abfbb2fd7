// R7 low theoretical occupancy, R8 small grids and tails: from the launch and the device's limits,
// no counters.
#include <cmath>
#include <optional>
#include <unordered_map>

#include "profiler/analysis/occupancy.h"
#include "profiler/insights/rules.h"

namespace gs::insights {
namespace {

// Start values: the table of docs/insights.md; those of our own are marked.
constexpr double kLowOccupancy = 0.5;  // R7
constexpr double kLeastWaves = 1;      // R8
constexpr double kLargeTail = 0.25;    // R8, of the time of all waves
constexpr double kKernelShare =
    0.03;  // ours: kernels below this share of an iteration are not looked at
constexpr std::int64_t kLeastNs = 5'000;  // R8, ours: what a kernel takes that does nothing, mostly

/// The launches of one kernel with one occupancy.
struct KernelUse {
    std::uint32_t name = 0;
    Occupancy occupancy;
    KernelShape shape;
    std::int64_t ns = 0;
    std::size_t count = 0;
    const Work* longest = nullptr;
};

bool described(const Work& w) {
    return w.detail != nullptr && w.detail->kind == GpuWorkKind::kernel && w.detail->block[0] > 0;
}

const GpuDeviceEvent* device_of(const Subject& s, const Work& w) {
    for (const GpuDeviceEvent& d : s.traced().devices)
        if (d.device == s.store.tracks()[w.track].device) return &d;
    return nullptr;
}

/// Same name, same block, same grid: what one line of a report means.
std::vector<KernelUse> uses_of(const Subject& s) {
    std::unordered_map<std::uint64_t, KernelUse> by_key;
    for (const Work& w : s.works) {
        // NCCL leaves the GPU to others by design: few blocks, many registers.
        if (!described(w) || s.communicates(w)) continue;
        const GpuDeviceEvent* device = device_of(s, w);
        if (device == nullptr) continue;
        const KernelShape shape = shape_of(*w.detail);
        std::uint64_t key = w.span->name;
        for (const std::uint64_t part :
             {shape.blocks, std::uint64_t{shape.threads_per_block}, std::uint64_t{shape.registers},
              std::uint64_t{shape.shared_bytes}})
            key = (key ^ part) * 0x9E3779B97F4A7C15ull;
        KernelUse& use = by_key[key];
        if (use.count == 0) {
            use.name = w.span->name;
            use.shape = shape;
            use.occupancy = occupancy_of(shape, *device);
        }
        use.ns += w.span->length_ns();
        ++use.count;
        if (use.longest == nullptr || w.span->length_ns() > use.longest->span->length_ns())
            use.longest = &w;
    }
    std::vector<KernelUse> out;
    for (const auto& [key, use] : by_key)
        if (use.occupancy.share > 0) out.push_back(use);
    return out;
}

std::string why_none(const Subject& s) {
    if (!s.activity.has_gpu) return kNoGpuWork;
    if (std::ranges::none_of(s.works, described))
        return "the trace does not show how kernels were launched (grid, block, registers)";
    if (s.traced().devices.empty()) return "the trace does not contain the device's limits";
    return {};
}

/// A kernel's name as its author wrote it, without template arguments and parameters.
std::string short_name(std::string_view name) {
    std::string_view out = name.substr(0, name.find_first_of("<("));
    if (const auto at = out.rfind("::"); at != std::string_view::npos) out.remove_prefix(at + 2);
    if (out.starts_with("void ")) out.remove_prefix(5);
    return std::string(out.empty() ? name.substr(0, 60) : out.substr(0, 60));
}

/// Findings of the uses for which gain(use) > 0, as one: the sum, with the worst as evidence.
template <class Gain, class Line>
std::optional<Insight> sum_up(const Subject& s, const std::vector<KernelUse>& uses,
                              const Gain& gain, const Line& line) {
    const auto counts = [&](const KernelUse& u) {
        return s.share(s.per_iteration(u.ns)) >= kKernelShare && s.per_iteration(gain(u)) > 0;
    };
    double sum = 0;
    std::size_t kernels = 0;
    for (const KernelUse& u : uses)
        if (counts(u)) sum += s.per_iteration(gain(u)), ++kernels;
    if (kernels == 0 || s.share(sum) < kGainShare) return std::nullopt;
    Insight i = insight(s, {}, sum, Confidence::inferred);
    std::size_t said = 0;
    for (const KernelUse* u : worst_of(uses, counts, gain)) {
        const std::string text = line(*u);
        if (said++ < 3) i.text += text + ". ";
        i.evidence.push_back(s.evidence(*u->longest, text));
    }
    if (!i.text.empty()) i.text.pop_back();
    if (kernels > 3) i.text += fmt::format(" And {} more.", kernels - 3);
    return i;
}

const char* occupancy_advice(OccupancyLimit limit) {
    switch (limit) {
        case OccupancyLimit::registers:
            return "Registers are the limit: __launch_bounds__(threads, blocks), smaller unrolled "
                   "loops, fewer values "
                   "alive at once, or half of the block's threads doing twice the work.";
        case OccupancyLimit::shared_memory:
            return "Shared memory is the limit: smaller tiles, half precision, or more of the "
                   "carve-out for shared memory (cudaFuncAttributePreferredSharedMemoryCarveout).";
        case OccupancyLimit::blocks:
            return "Blocks are too small: a multiprocessor holds a limited number of them. Use 128 "
                   "to 256 threads a block.";
        default:
            return "The block size does not divide a multiprocessor's capacity. Use 128 or 256 "
                   "threads a block.";
    }
}

}  // namespace

Answer low_occupancy(const Subject& s) {
    if (const std::string why = why_none(s); !why.empty()) return cannot_tell(why);
    const std::vector<KernelUse> uses = uses_of(s);
    // Where warps hide latency, throughput follows their number up to about half of the most: a
    // kernel at 25 % could take half its time. One that is limited by bandwidth or arithmetic gains
    // nothing: therefore inferred.
    const auto gain = [](const KernelUse& u) {
        return u.occupancy.share < kLowOccupancy
                   ? static_cast<double>(u.ns) * (1 - u.occupancy.share / kLowOccupancy)
                   : 0.0;
    };
    const auto line = [&](const KernelUse& u) {
        return fmt::format(
            "{}: {:.0f} % ({} registers, {} B shared, {} threads; limited by {}), {:.2f} ms an "
            "iteration",
            short_name(s.store.name(u.name)), 100 * u.occupancy.share, u.shape.registers,
            u.shape.shared_bytes, u.shape.threads_per_block, name_of(u.occupancy.limit),
            s.per_iteration(u.ns));
    };
    auto found = sum_up(s, uses, gain, line);
    if (!found) return {};
    found->title = "Kernels that keep less than half of the warps a multiprocessor can hold";
    const auto worst = std::ranges::max_element(
        uses, [&](const KernelUse& a, const KernelUse& b) { return gain(a) < gain(b); });
    found->advice = occupancy_advice(worst->occupancy.limit);
    return {{std::move(*found)}, {}};
}

Answer small_grids(const Subject& s) {
    if (const std::string why = why_none(s); !why.empty()) return cannot_tell(why);
    const std::vector<KernelUse> uses = uses_of(s);
    // Blocks of equal length run in waves, and the last one takes as long as a full one: of ceil(w)
    // waves' time, w waves' would do. A grid that does not even give each multiprocessor a block
    // leaves the others without work.
    const auto gain = [](const KernelUse& u) {
        if (u.ns < kLeastNs * static_cast<std::int64_t>(u.count)) return 0.0;
        const double waves = u.occupancy.waves;
        const double lost =
            waves < kLeastWaves ? 1 - u.occupancy.used_share : 1 - waves / std::ceil(waves);
        return waves < kLeastWaves || lost > kLargeTail ? lost * static_cast<double>(u.ns) : 0.0;
    };
    const auto line = [&](const KernelUse& u) {
        return fmt::format(
            "{}: {} blocks are {:.2f} waves, {:.0f} % of the multiprocessors get one; {:.2f} ms an "
            "iteration",
            short_name(s.store.name(u.name)), u.shape.blocks, u.occupancy.waves,
            100 * u.occupancy.used_share, s.per_iteration(u.ns));
    };
    auto found = sum_up(s, uses, gain, line);
    if (!found) return {};
    found->title = "Grids too small for the GPU, or with a last wave that is mostly empty";
    found->advice =
        "Use more and smaller blocks, several items per launch (a batch of views), separate "
        "streams for independent kernels, or persistent kernels, whose blocks take work until none "
        "is left.";
    return {{std::move(*found)}, {}};
}

}  // namespace gs::insights
