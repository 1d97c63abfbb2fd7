#include "trainer/lidar/lidar_loss.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace gs {

LidarTerms lidar_loss(const RayImage& image, std::span<const float> ranges, double weight,
                      RayImageGradient& v) {
    const std::size_t n = ranges.size();
    CHECK(image.alpha.size() == n, "{} beams, {} ranges", image.alpha.size(), n);
    v = {};
    LidarTerms out{.beams = n};
    if (n == 0) return out;
    const double each = weight / static_cast<double>(n);
    v.measured.assign(ranges.begin(), ranges.end());
    v.pull = static_cast<float>(each);
    v.far = kFarOff;
    double dark = 0;
    for (const float of_ray : image.alpha) {
        const double alpha = std::max(static_cast<double>(of_ray), kLeastAlpha);
        dark -= std::log(alpha);
        v.alpha.push_back(-each / alpha);
    }
    out.dark = dark / static_cast<double>(n);
    return out;
}

}  // namespace gs
