#include "profiler/analysis/kernel_loop.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "base/nth.h"
#include "profiler/analysis/pauses.h"
#include "profiler/analysis/time_range.h"

namespace gs {
namespace {

constexpr std::size_t kLeastRecurring = 4;  ///< fewer say nothing about regularity
constexpr double kRegularShare = 0.8;  ///< of the periods must lie within [1/2, 2] of their median
constexpr double kSameCount = 0.03;    ///< kernels whose counts differ by less are of one loop

using BeginsByName = std::unordered_map<std::uint32_t, std::vector<std::int64_t>>;

/// Calls visit(name, begin) for the kernels and graphs that began in [from, until].
template <class Visit>
void for_each_kernel(const TraceStore& store, std::uint32_t process, std::int64_t from_ns,
                     std::int64_t until_ns, const Visit& visit) {
    for (const TraceTrack& track : store.tracks()) {
        if (track.process != process || track.kind != TrackKind::gpu_stream || track.rows.empty())
            continue;
        const auto spans = track.rows[0].view();
        const auto works = track.described() ? track.works[0].view() : std::span<const GpuWork>();
        const auto first = std::ranges::lower_bound(spans, from_ns, {}, &TraceSpan::begin_ns);
        for (auto i = static_cast<std::size_t>(first - spans.begin());
             i < spans.size() && spans[i].begin_ns <= until_ns; ++i)
            if (i >= works.size() || works[i].kind == GpuWorkKind::kernel ||
                works[i].kind == GpuWorkKind::graph)
                visit(spans[i].name, spans[i].begin_ns);
    }
}

bool recurs_regularly(const std::vector<std::int64_t>& begins, const Intervals& pauses) {
    // Not across a pause of the recording: begins in it are not known.
    std::vector<std::int64_t> periods;
    for (std::size_t i = 0; i + 1 < begins.size(); ++i)
        if (const Interval step{begins[i], begins[i + 1]}; length_within(pauses, step) == 0)
            periods.push_back(step.length());
    if (periods.size() + 1 < kLeastRecurring) return false;
    const std::int64_t median = upper_median(periods);
    const auto regular = std::ranges::count_if(
        periods, [&](std::int64_t p) { return 2 * p >= median && p <= 2 * median; });
    return median > 0 &&
           static_cast<double>(regular) >= kRegularShare * static_cast<double>(periods.size());
}

}  // namespace

std::vector<std::int64_t> begins_of(const TraceStore& store, std::uint32_t process,
                                    std::string_view kernel, std::int64_t from_ns,
                                    std::int64_t until_ns) {
    std::vector<std::int64_t> out;
    for_each_kernel(store, process, from_ns, until_ns, [&](std::uint32_t name, std::int64_t t) {
        if (store.name(name) == kernel) out.push_back(t);
    });
    std::ranges::sort(out);
    return out;
}

/// Of the regular ones, that of the count which most of them share, the first in time.
std::string kernel_of_loop(const TraceStore& store, std::uint32_t process, std::int64_t from_ns) {
    BeginsByName by_name;
    for_each_kernel(store, process, from_ns, kAllTime.end_ns,
                    [&](std::uint32_t name, std::int64_t t) { by_name[name].push_back(t); });
    const Intervals pauses = pauses_of(store, process, Unrecorded::gpu);
    std::vector<std::uint32_t> regular;
    for (auto& [name, begins] : by_name) {
        std::ranges::sort(begins);
        if (recurs_regularly(begins, pauses)) regular.push_back(name);
    }
    std::optional<std::uint32_t> best;
    std::tuple<std::size_t, std::size_t, std::int64_t> best_score{0, 0, 0};
    for (const std::uint32_t name : regular) {
        const std::size_t count = by_name[name].size();
        const auto slack = std::max<std::size_t>(
            1, static_cast<std::size_t>(kSameCount * static_cast<double>(count)));
        const auto alike =
            static_cast<std::size_t>(std::ranges::count_if(regular, [&](std::uint32_t n) {
                const std::size_t other = by_name[n].size();
                return std::max(other, count) - std::min(other, count) <= slack;
            }));
        // Among equals the rarer one: what comes twice in each iteration shares its count with
        // fewer.
        const std::tuple score{alike, ~count, -by_name[name].front()};
        if (!best || best_score < score) {
            best_score = score;
            best = name;
        }
    }
    return best ? std::string(store.name(*best)) : std::string();
}

}  // namespace gs
