#include "trainer/init.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "renderer/scene/point_tree.h"
#include "trainer/density.h"
#include "trainer/morton.h"

namespace gs {
namespace {

constexpr float kShConstant = 0.28209479177387814f;  // degree-0 basis
constexpr std::size_t kNeighbours = 3;

/// Mean squared distance of every point to its nearest neighbours; 0 for a lone point.
std::vector<float> neighbour_distances(const std::vector<Vec3f>& points) {
    const PointTree<float> tree(points);
    std::vector<float> squared(points.size());
    parallel_for(points.size(), 256, [&](std::size_t i) {
        std::uint32_t index[kNeighbours + 1];
        float distance[kNeighbours + 1];
        // The nearest is the point itself, or a twin at the same place: distance 0 either way.
        const std::size_t found = tree.nearest(points[i], kNeighbours + 1, index, distance);
        float sum = 0;
        for (std::size_t k = 1; k < found; ++k) sum += distance[k];
        squared[i] = found > 1 ? sum / static_cast<float>(found - 1) : 0.0f;
    });
    return squared;
}

/// Smallest squared size given: a thousandth of the median distance, and 3DGS's absolute 1e-7 where
/// that is smaller still.
float smallest_squared(std::vector<float> squared, float extent) {
    squared.erase(std::remove_if(squared.begin(), squared.end(), [](float d) { return !(d > 0); }),
                  squared.end());
    if (squared.empty())
        return 1e-4f * extent * extent;  // one place only: a hundredth of the scene
    const auto middle = squared.begin() + static_cast<std::ptrdiff_t>(squared.size() / 2);
    std::nth_element(squared.begin(), middle, squared.end());
    return std::max(std::min(1e-7f, 1e-2f * *middle), 1e-6f * *middle);
}

float points_radius(const Capture& capture) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Vec3f lo{kInfinity, kInfinity, kInfinity}, hi{-kInfinity, -kInfinity, -kInfinity};
    for (const SparsePoint& p : capture.points) {
        const Vec3f at = p.position;
        if (!std::isfinite(at.x + at.y + at.z)) continue;
        lo = {std::min(lo.x, at.x), std::min(lo.y, at.y), std::min(lo.z, at.z)};
        hi = {std::max(hi.x, at.x), std::max(hi.y, at.y), std::max(hi.z, at.z)};
    }
    if (!(lo.x <= hi.x)) return 0;
    const Vec3f diagonal = hi - lo;
    return 0.5f * std::sqrt(dot(diagonal, diagonal));
}

}  // namespace

float scene_extent_of(const Capture& capture) {
    const std::vector<std::size_t> training = capture.view_indices(false);
    Vec3d mean{};
    for (const std::size_t v : training) mean += capture.views[v].camera.position();
    mean = (1.0 / static_cast<double>(std::max<std::size_t>(1, training.size()))) * mean;
    double furthest = 0;
    for (const std::size_t v : training) {
        const Vec3d d = capture.views[v].camera.position() - mean;
        furthest = std::max(furthest, std::sqrt(dot(d, d)));
    }
    const float radius = points_radius(capture);
    if (std::isfinite(furthest) && furthest > 1e-6 * static_cast<double>(radius) &&
        furthest > 1e-12)
        return static_cast<float>(1.1 * furthest);
    return radius > 0 ? radius : 1.0f;
}

Result<GaussianModel> gaussians_from_points(const Capture& capture, int sh_degree,
                                            std::size_t capacity, const FirstLook& look) {
    std::vector<Vec3f> points;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < capture.points.size(); ++i) {
        const Vec3f p = capture.points[i].position;
        if (!std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.z)) continue;
        points.push_back(p);
        rows.push_back(i);
    }
    if (rows.empty())
        return fail(ErrorKind::malformed, capture.path,
                    "the capture has no usable 3D points to start from",
                    "add sparse points, or load it with random points");
    const std::vector<float> squared = neighbour_distances(points);
    const float smallest = smallest_squared(squared, scene_extent_of(capture));
    GaussianModel model(rows.size(), sh_degree, padded_capacity(std::max(capacity, rows.size())));
    const std::vector<std::uint32_t> order = morton_order(points);
    const float logit = std::log(look.opacity / (1.0f - look.opacity)),
                larger = std::log(look.scale);
    for (std::size_t row = 0; row < order.size(); ++row) {
        const Vec3f p = points[order[row]];
        const float log_scale = 0.5f * std::log(std::max(squared[order[row]], smallest)) + larger;
        const std::uint8_t* rgb = capture.points[rows[order[row]]].rgb;
        const float mean[3] = {p.x, p.y, p.z};
        for (int axis = 0; axis < 3; ++axis) {
            model.at(kMeans + axis, row) = mean[axis];
            model.at(kLogScales + axis, row) = log_scale;
            // Half a step above black: exactly at the colour's clamp rounding decides whether the
            // channel can ever learn.
            model.at(kSh0 + axis, row) =
                (std::max(0.5f, static_cast<float>(rgb[axis])) / 255.0f - 0.5f) / kShConstant;
        }
        model.at(kOpacityLogits, row) = logit;
    }
    return model;
}

}  // namespace gs
