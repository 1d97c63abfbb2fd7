// The statistics of compare.h: the distance between two samples, and its certainty.
#include <algorithm>
#include <cmath>

#include "profiler/analysis/compare.h"

namespace gs {
namespace {

constexpr double kNormal95 = 1.959964;

/// Sorted candidates -> their median, and the interval that leaves out `rank` of them on either
/// side.
Shift from_candidates(std::vector<double>& values, double rank) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    const auto out = static_cast<std::size_t>(
        std::clamp(std::floor(rank), 0.0, static_cast<double>((n - 1) / 2)));
    const double median = n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
    return {median, values[out], values[n - 1 - out]};
}

/// At most this many, evenly taken: all pairs of two samples are their product.
std::vector<double> thinned(std::span<const double> values) {
    constexpr std::size_t kMost = 256;
    if (values.size() <= kMost) return {values.begin(), values.end()};
    std::vector<double> out(kMost);
    for (std::size_t i = 0; i < kMost; ++i) out[i] = values[i * values.size() / kMost];
    return out;
}

}  // namespace

Shift shift_of(std::span<const double> all_a, std::span<const double> all_b) {
    const std::vector<double> a = thinned(all_a), b = thinned(all_b);
    if (a.size() < kLeastSamples || b.size() < kLeastSamples) return {};
    std::vector<double> differences;
    differences.reserve(a.size() * b.size());
    for (const double y : b)
        for (const double x : a) differences.push_back(y - x);
    const auto m = static_cast<double>(a.size()), n = static_cast<double>(b.size());
    return from_candidates(differences,
                           0.5 * m * n - kNormal95 * std::sqrt(m * n * (m + n + 1) / 12));
}

Shift paired_shift(std::span<const double> all) {
    const std::vector<double> d = thinned(all);
    if (d.size() < kLeastSamples) return {};
    std::vector<double> walsh;
    walsh.reserve(d.size() * (d.size() + 1) / 2);
    for (std::size_t i = 0; i < d.size(); ++i)
        for (std::size_t j = i; j < d.size(); ++j) walsh.push_back(0.5 * (d[i] + d[j]));
    const auto n = static_cast<double>(d.size());
    return from_candidates(walsh,
                           n * (n + 1) / 4 - kNormal95 * std::sqrt(n * (n + 1) * (2 * n + 1) / 24));
}

Shift widened(const Shift& shift, double waited_a_ms, double waited_b_ms) {
    return {shift.estimate, shift.low - waited_b_ms, shift.high + waited_a_ms};
}

// Sure of a difference: the interval lies on one side of zero, and the effect is worth the name.
// Sure of none: the interval lies within the least effect. Everything else is undecided by
// these iterations.
Verdict verdict_of(const Shift& shift, double base, double least_effect) {
    if (!std::isfinite(shift.estimate) || !(base > 0)) return Verdict::too_few;
    const double least = least_effect * base;
    if (shift.low >= -least && shift.high <= least) return Verdict::same;
    if (std::abs(shift.estimate) < least || (shift.low <= 0 && shift.high >= 0))
        return Verdict::ambiguous;
    return shift.estimate > 0 ? Verdict::slower : Verdict::faster;
}

}  // namespace gs
