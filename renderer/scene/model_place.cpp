#include "renderer/scene/model_place.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/nth.h"

namespace gs {
namespace {

/// The median by axis; 90 % of the points are at most so far from it.
Vec3d middle_of(std::vector<Vec3d> points, double& distance90) {
    const std::size_t half = points.size() / 2;
    Vec3d center;
    for (double Vec3d::*axis : {&Vec3d::x, &Vec3d::y, &Vec3d::z}) {
        std::nth_element(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(half),
                         points.end(), [axis](Vec3d a, Vec3d b) { return a.*axis < b.*axis; });
        center.*axis = points[half].*axis;
    }
    std::vector<double> distances;
    for (const Vec3d p : points) {
        const Vec3d arm = p - center;
        distances.push_back(std::sqrt(dot(arm, arm)));
    }
    distance90 = std::max(nth_of(distances, distances.size() * 9 / 10), 1e-6);
    return center;
}

}  // namespace

PathPlace place_of(const GaussianModel& model) {
    std::vector<Vec3d> points;
    std::vector<double> sizes;
    for (std::size_t i = 0; i < model.count; ++i) {
        const Vec3f p = model.mean(i);
        if (!std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.z)) continue;
        points.push_back({p.x, p.y, p.z});
        const float largest = std::max(
            {model.at(kLogScales, i), model.at(kLogScales + 1, i), model.at(kLogScales + 2, i)});
        sizes.push_back(std::exp(static_cast<double>(std::min(largest, 30.0f))));
    }
    PathPlace place;
    if (points.empty()) return place;
    double reach = 1;
    place.center = middle_of(std::move(points), reach);
    // Of few Gaussians, or many at one place, sizes are what there is to see.
    place.radius = 2.6 * std::max(reach, nth_of(sizes, sizes.size() / 2));
    return place;
}

}  // namespace gs
