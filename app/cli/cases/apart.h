// Distances between results in which a NaN is never close to anything, unlike with `std::max`. For
// the directed cases.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace gs::cli {

/// The larger, where a NaN is the largest of all.
inline void widen(double& worst, double apart) {
    if (!(apart <= worst))
        worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

/// |a - b|; 0 of two NaN or one infinity twice, NaN where one side alone is NaN.
inline double distance_of(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) ? 0 : std::abs(a - b);
}

/// Largest difference over the largest finite value of `truth`; of one length. Infinite where a
/// value is finite on one side only.
inline double relative_apart(std::span<const float> got, std::span<const float> truth) {
    double worst = 0, largest = 1e-12;
    for (std::size_t i = 0; i < truth.size(); ++i) {
        widen(worst, distance_of(got[i], truth[i]));
        if (std::isfinite(truth[i]))
            largest = std::max(largest, static_cast<double>(std::abs(truth[i])));
    }
    return worst / largest;
}

/// The same of two numbers.
inline double relative_apart(double got, double truth) {
    const double size = std::isfinite(truth) ? std::max(1e-12, std::abs(truth)) : 1;
    double worst = 0;
    widen(worst, distance_of(got, truth) / size);
    return worst;
}

}  // namespace gs::cli
