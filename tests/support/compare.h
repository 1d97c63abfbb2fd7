// How far two arrays are apart, and a comparison of pictures that treats pixels on a discontinuity
// apart. Tests of every rasterizer use it. Anything with size() and [] goes in: vectors, spans,
// Array, Buffer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "base/check.h"

namespace gs::test {

/// |a - b| / |b| (Euclidean); |a| when b is zero everywhere. NaN anywhere gives infinity.
template <class A, class B>
double relative_l2(const A& a, const B& b) {
    CHECK(a.size() == b.size(), "comparing {} values with {}", a.size(), b.size());
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
        difference += (x - y) * (x - y);
        norm += y * y;
    }
    if (!std::isfinite(difference) || !std::isfinite(norm))
        return std::numeric_limits<double>::infinity();
    return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

/// Largest |a - b| where `ignore` (one entry for each `a.size() / ignore.size()` consecutive
/// values; empty = none) is zero.
template <class A, class B, class M>
double max_abs_difference(const A& a, const B& b, const M& ignore) {
    CHECK(a.size() == b.size(), "comparing {} values with {}", a.size(), b.size());
    CHECK(ignore.size() == 0 || a.size() % ignore.size() == 0, "mask of {} for {} values",
          ignore.size(), a.size());
    const std::size_t per_entry = ignore.size() > 0 ? a.size() / ignore.size() : 1;
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (ignore.size() > 0 && ignore[i / per_entry] != 0) continue;
        const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
    }
    return worst;
}
template <class A, class B>
double max_abs_difference(const A& a, const B& b) {
    return max_abs_difference(a, b, std::vector<int>{});
}

/// Pictures with decisions in them (alpha cut, early stop, depth order). `band` marks pixels where
/// rounding may flip one.
struct BandReport {
    std::size_t interior = 0, band = 0;  ///< values outside and inside the band
    double interior_max = 0;             ///< largest difference outside: the strict number
    double band_max =
        0;  ///< largest difference inside: bounded by what one flipped decision can do
    std::size_t flips = 0;  ///< values inside that differ by more than `tight`
    double bias = 0;  ///< mean signed difference of the flips over their mean magnitude, -1..1
};
template <class A, class B, class M>
BandReport compare_with_band(const A& a, const B& b, const M& band, double tight) {
    CHECK(a.size() == b.size() && band.size() > 0 && a.size() % band.size() == 0, "sizes {} {} {}",
          a.size(), b.size(), band.size());
    const std::size_t per_entry = a.size() / band.size();
    BandReport report;
    double sum = 0, magnitude = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double signed_difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        const double d = std::isnan(signed_difference) ? std::numeric_limits<double>::infinity()
                                                       : std::abs(signed_difference);
        if (band[i / per_entry] == 0) {
            ++report.interior;
            report.interior_max = std::max(report.interior_max, d);
            continue;
        }
        ++report.band;
        report.band_max = std::max(report.band_max, d);
        if (d <= tight) continue;
        ++report.flips;
        sum += signed_difference;
        magnitude += d;
    }
    report.bias = magnitude > 0 ? sum / magnitude : 0;
    return report;
}

struct BandLimits {
    double tight = 2e-5;  ///< outside the band
    double flip = 0.02;   ///< inside the band: one Gaussian of alpha about 1/255 and what it hid
    double band_share = 0.02;  ///< the band may be at most this share of the picture
    double bias = 0.95;        ///< with 20 flips or more: |bias| must stay below
};
/// Empty when the report is within the limits, else what is not.
std::string violation(const BandReport& report, const BandLimits& limits);

/// Share of the entries that are non-zero in `expected` but exactly zero in `actual`: gradients
/// that silently do not flow.
template <class A, class B>
double silent_zero_share(const A& actual, const B& expected, double threshold) {
    std::size_t alive = 0, silent = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (std::abs(static_cast<double>(expected[i])) <= threshold) continue;
        ++alive;
        silent += actual[i] == 0;
    }
    return alive > 0 ? static_cast<double>(silent) / static_cast<double>(alive) : 0;
}

}  // namespace gs::test
