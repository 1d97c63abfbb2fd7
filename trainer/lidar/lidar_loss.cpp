#include "trainer/lidar/lidar_loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/nth.h"

namespace gs {
namespace {

/// The difference that kRangeQuantile of them do not exceed.
double largest_counted(std::vector<double> differences) {
    return differences.empty() ? 0 : quantile(differences, kRangeQuantile);
}

}  // namespace

LidarTerms lidar_loss(const RayImage& image, std::span<const float> ranges, double weight,
                      RayImageGradient& v) {
    const std::size_t n = ranges.size();
    CHECK(image.alpha.size() == n, "{} beams, {} ranges", image.alpha.size(), n);
    v = {};
    LidarTerms out;
    out.beams = n;
    if (n == 0) return out;
    const auto alpha_of = [&](std::size_t i) { return static_cast<double>(image.alpha[i]); };
    const auto difference_of = [&](std::size_t i) {
        return static_cast<double>(image.hit[i]) / alpha_of(i) - static_cast<double>(ranges[i]);
    };
    std::vector<double> differences;
    for (std::size_t i = 0; i < n; ++i)
        if (alpha_of(i) > kLeastAlpha) differences.push_back(std::abs(difference_of(i)));
    const double worst = largest_counted(differences);
    double range = 0, dark = 0;
    for (const double d : differences) {
        if (d > worst) continue;
        range += d;
        ++out.counted;
    }
    v.alpha.assign(n, 0);
    v.hit.assign(n, 0);
    v.clear.resize(n);
    v.early = static_cast<float>(weight / static_cast<double>(n));
    const double each = weight / static_cast<double>(n),
                 each_range = out.counted > 0 ? weight / static_cast<double>(out.counted) : 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double alpha = std::max(alpha_of(i), kLeastAlpha);
        dark -= std::log(alpha);
        v.alpha[i] = -each / alpha;
        v.clear[i] = ranges[i] - kClearance;
        if (!(alpha_of(i) > kLeastAlpha)) continue;
        const double d = difference_of(i);
        if (std::abs(d) > worst) continue;
        const double pull = d > 0 ? each_range : d < 0 ? -each_range : 0;
        v.hit[i] = pull / alpha;
        v.alpha[i] -= pull * static_cast<double>(image.hit[i]) / (alpha * alpha);
    }
    out.range = out.counted > 0 ? range / static_cast<double>(out.counted) : kNotMeasured;
    out.dark = dark / static_cast<double>(n);
    return out;
}

}  // namespace gs
