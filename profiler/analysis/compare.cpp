#include "profiler/analysis/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "profiler/analysis/activity.h"
#include "profiler/analysis/pauses.h"
#include "profiler/store/statistics.h"

namespace gs {
namespace {

constexpr double kAbsentMs = 1e-6;  ///< a row whose medians are both below this is not shown

struct Key {
    ComparedRow::Kind kind;
    std::string name;
    auto operator<=>(const Key&) const = default;
};
/// Milliseconds per iteration, in order.
using Series = std::map<Key, std::vector<double>>;

struct Sampled {
    Iterations iterations;
    Series series;
    MachineUse machine;
};

void add_ranges(const CompareSide& side, Sampled& out) {
    if (out.iterations.track >= side.store->tracks().size()) return;
    const TraceTrack& track = side.store->tracks()[out.iterations.track];
    const auto& items = out.iterations.items;
    for (std::size_t i = 0; i < items.size(); ++i)
        for (const auto& spans : track.rows)
            for (const TraceSpan& span :
                 spans_within(spans.view(), items[i].begin_ns, items[i].end_ns)) {
                // Ranges that are stages have rows of their own; the iteration's range is the first
                // row.
                if (side.store->names().stage(span.name) != Stage::other ||
                    span.begin_ns < items[i].begin_ns)
                    continue;
                if (span.begin_ns == items[i].begin_ns && span.end_ns == items[i].end_ns) continue;
                auto& values = out.series[{ComparedRow::Kind::range,
                                           std::string(side.store->name(span.name))}];
                values.resize(items.size());
                values[i] +=
                    static_cast<double>(std::min(span.end_ns, items[i].end_ns) - span.begin_ns) *
                    1e-6;
            }
}

void add_totals(const std::vector<Breakdown>& breakdowns, Series& series) {
    for (const Breakdown& b : breakdowns) {
        if (b.has_gpu) {
            series[{ComparedRow::Kind::gpu_total, "GPU busy"}].push_back(b.busy_ms);
            series[{ComparedRow::Kind::gpu_total, "GPU idle"}].push_back(b.idle_ms);
            series[{ComparedRow::Kind::gpu_total, "copies alone"}].push_back(b.copy_alone_ms);
        }
        if (b.api_ms > 0)
            series[{ComparedRow::Kind::gpu_total, "waiting for the GPU"}].push_back(b.sync_ms);
    }
}

Sampled sample(const CompareSide& side, const CompareOptions& options) {
    Sampled out;
    out.iterations = find_iterations(*side.store, side.process);
    keep_whole(*side.store, out.iterations);
    auto& items = out.iterations.items;
    if (items.size() > 2 * options.warm_up)
        items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(options.warm_up));
    std::erase_if(items, [&](const Iteration& i) {
        return i.begin_ns < side.begin_ns || i.end_ns > side.end_ns;
    });
    if (items.size() > options.max_iterations)
        items.erase(items.begin(),
                    items.end() - static_cast<std::ptrdiff_t>(options.max_iterations));
    if (!items.empty())
        out.machine = machine_use(*side.store, side.process, items.front().begin_ns,
                                  items.back().end_ns, out.iterations.track);
    const std::vector<Breakdown> breakdowns = break_down(*side.store, out.iterations);
    for (const Breakdown& b : breakdowns) {
        out.series[{ComparedRow::Kind::iteration, "iteration"}].push_back(b.wall_ms);
        for (std::size_t s = 0; s < kStageCount; ++s) {
            out.series[{ComparedRow::Kind::gpu_stage, kStageNames[s]}].push_back(b.gpu_ms[s]);
            out.series[{ComparedRow::Kind::cpu_stage, kStageNames[s]}].push_back(b.cpu_self_ms[s]);
        }
    }
    add_totals(breakdowns, out.series);
    add_ranges(side, out);
    return out;
}

Distribution distribution_of(std::vector<double> values) {
    Distribution out{.count = values.size()};
    if (values.empty()) return out;
    std::sort(values.begin(), values.end());
    out.median_ms = percentile(values, 50);
    out.p95_ms = percentile(values, 95);
    out.mean_ms = 0;
    for (const double v : values) out.mean_ms += v / static_cast<double>(values.size());
    return out;
}

/// Indices of iterations with the same number on both sides.
std::vector<std::pair<std::size_t, std::size_t>> matches_of(const Iterations& a,
                                                            const Iterations& b) {
    std::unordered_map<std::uint64_t, std::size_t> in_a;
    for (std::size_t i = 0; i < a.items.size(); ++i) in_a.emplace(a.items[i].number, i);
    std::vector<std::pair<std::size_t, std::size_t>> out;
    for (std::size_t i = 0; i < b.items.size(); ++i)
        if (const auto found = in_a.find(b.items[i].number); found != in_a.end())
            out.emplace_back(found->second, i);
    return out;
}

/// Times of a GPU do not depend on what else runs on the CPUs.
bool on_cpu(ComparedRow::Kind kind) {
    return kind != ComparedRow::Kind::gpu_stage && kind != ComparedRow::Kind::gpu_total;
}

ComparedRow row_of(const Key& key, const std::vector<double>& a, const std::vector<double>& b,
                   std::span<const std::pair<std::size_t, std::size_t>> matches,
                   double least_effect, const Comparison& of) {
    ComparedRow out{.kind = key.kind, .name = key.name};
    for (std::size_t s = 0; s < kStageCount; ++s)
        if (key.name == kStageNames[s] && key.kind != ComparedRow::Kind::range)
            out.stage = static_cast<Stage>(s);
    out.a = distribution_of(a);
    out.b = distribution_of(b);
    Shift shift;
    // The same iteration in both has the same view and the same splats, or nearly so: their
    // differences scatter less.
    if (matches.size() >= kLeastSamples && 2 * matches.size() >= std::max(a.size(), b.size())) {
        std::vector<double> differences;
        for (const auto& [i, j] : matches)
            if (i < a.size() && j < b.size()) differences.push_back(b[j] - a[i]);
        shift = paired_shift(differences);
        out.matched = true;
    } else {
        shift = shift_of(a, b);
    }
    // A stage that is not there on one side has no share to speak of: the mean counts it, the
    // median may be zero.
    const double base = out.a.median_ms > 0 ? out.a.median_ms : out.b.median_ms;
    out.relative = shift.estimate / base;
    out.verdict = verdict_of(shift, base, least_effect);
    if (on_cpu(key.kind)) {
        shift = widened(shift, of.machine_a.doubt() * out.a.median_ms,
                        of.machine_b.doubt() * out.b.median_ms);
        if (verdict_of(shift, base, least_effect) != out.verdict) out.verdict = Verdict::not_quiet;
    }
    out.difference_ms = shift.estimate;
    out.low_ms = shift.low;
    out.high_ms = shift.high;
    return out;
}

bool shown(const ComparedRow& row) {
    if (row.kind == ComparedRow::Kind::iteration) return true;
    // The iteration's own range as a stage is what nothing in it explains.
    return row.a.mean_ms > kAbsentMs || row.b.mean_ms > kAbsentMs;
}

void sort_rows(std::vector<ComparedRow>& rows, std::size_t max_ranges) {
    const auto size = [](const ComparedRow& r) {
        return std::isfinite(r.difference_ms) ? std::abs(r.difference_ms) : -1.0;
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const ComparedRow& a, const ComparedRow& b) {
        const bool a_first = a.kind == ComparedRow::Kind::iteration,
                   b_first = b.kind == ComparedRow::Kind::iteration;
        return a_first != b_first ? a_first : !a_first && size(a) > size(b);
    });
    std::size_t ranges = 0;
    std::erase_if(rows, [&](const ComparedRow& r) {
        return r.kind == ComparedRow::Kind::range && ++ranges > max_ranges;
    });
}

}  // namespace

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::same:
            return "same";
        case Verdict::faster:
            return "faster";
        case Verdict::slower:
            return "slower";
        case Verdict::ambiguous:
            return "unclear";
        case Verdict::too_few:
            return "too few";
        case Verdict::not_quiet:
            break;
    }
    return "not quiet";
}

Comparison compare(const CompareSide& a, const CompareSide& b, const CompareOptions& options) {
    Comparison out;
    out.a = a;
    out.b = b;
    const Sampled of_a = sample(a, options), of_b = sample(b, options);
    out.how_a = of_a.iterations.how;
    out.how_b = of_b.iterations.how;
    out.machine_a = of_a.machine;
    out.machine_b = of_b.machine;
    if (of_a.iterations.items.empty() || of_b.iterations.items.empty()) return out;
    const auto matches = matches_of(of_a.iterations, of_b.iterations);
    for (const auto& [i, j] : matches)
        out.matched.push_back(
            {of_a.iterations.items[i].number, of_a.iterations.items[i], of_b.iterations.items[j]});
    Series keys = of_a.series;
    keys.insert(of_b.series.begin(), of_b.series.end());
    for (const auto& [key, unused] : keys) {
        // What one side never did took it no time at all.
        const auto values = [&](const Sampled& side) {
            const auto found = side.series.find(key);
            return found != side.series.end() ? found->second
                                              : std::vector<double>(side.iterations.items.size());
        };
        ComparedRow row =
            row_of(key, values(of_a), values(of_b), matches, options.least_effect, out);
        if (shown(row)) out.rows.push_back(std::move(row));
    }
    sort_rows(out.rows, options.max_ranges);
    return out;
}

}  // namespace gs
