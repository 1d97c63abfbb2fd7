#include "trainer/density/init.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/nth.h"
#include "base/parallel.h"
#include "renderer/math/symmetric.h"
#include "renderer/scene/lost_views.h"
#include "renderer/scene/origin.h"
#include "renderer/scene/point_tree.h"
#include "trainer/density/density.h"
#include "trainer/density/morton.h"

namespace gs {
namespace {

constexpr float kShConstant = 0.28209479177387814f;  // degree-0 basis
constexpr std::size_t kNeighbours = 3;

/// Mean squared distance of every point to its nearest neighbours; 0 for a lone point.
std::vector<float> neighbour_distances(const PointTree<float>& tree,
                                       const std::vector<Vec3f>& points) {
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

/// The plane through the points around one.
struct SurfaceHere {
    bool flat = false;  ///< else they lie along a line, or about a volume
    Vec3d normal;       ///< of length 1
    double above = 0;   ///< of the point, along the normal
};
SurfaceHere surface_at(const PointTree<float>& tree, const std::vector<Vec3f>& points, Vec3f at) {
    constexpr std::size_t kAround = 20, kLeast = 5;
    constexpr double kLine = 0.02, kVolume = 0.5;  // variances over the next larger one
    std::uint32_t index[kAround];
    float squared[kAround];
    const std::size_t found = tree.nearest(at, kAround, index, squared);
    SurfaceHere out;
    if (found < kLeast) return out;
    const auto from_here = [&](std::size_t k) {
        const Vec3f d =
            points[index[k]] - at;  // small numbers: the world may be far from its origin
        return math::Row<3>{d.x, d.y, d.z};
    };
    math::Row<3> mean{};
    math::Square<3> variance{};
    for (std::size_t k = 0; k < found; ++k)
        for (std::size_t a = 0; a < 3; ++a) mean[a] += from_here(k)[a] / static_cast<double>(found);
    for (std::size_t k = 0; k < found; ++k)
        for (std::size_t a = 0; a < 3; ++a)
            for (std::size_t b = 0; b < 3; ++b)
                variance[a][b] += (from_here(k)[a] - mean[a]) * (from_here(k)[b] - mean[b]);
    const math::Square<3> axes = math::diagonalise(variance);
    std::array<std::size_t, 3> order{0, 1, 2};  // thinnest first
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return variance[a][a] < variance[b][b]; });
    const auto spread = [&](std::size_t rank) { return variance[order[rank]][order[rank]]; };
    out.flat = spread(1) > kLine * spread(2) && spread(0) < kVolume * spread(1);
    const std::size_t least = order[0];
    out.normal = {axes[0][least], axes[1][least], axes[2][least]};
    out.above = -dot(out.normal, Vec3d{mean[0], mean[1], mean[2]});
    return out;
}

/// Row `row`, a ball until now, becomes a disc in the surface.
void lay_flat(GaussianModel& model, std::size_t row, const SurfaceHere& surface) {
    const Vec3d n = surface.normal.z < 0 ? -1.0 * surface.normal : surface.normal;
    const double off = dot(n, surface.normal) * surface.above;
    const double normal[3] = {n.x, n.y, n.z};
    for (int axis = 0; axis < 3; ++axis)
        model.at(kMeans + axis, row) -= static_cast<float>(off * normal[axis]);
    // The shortest turn of z to the normal; any length of quaternion will do.
    const double quat[4] = {1 + n.z, -n.y, n.x, 0};
    for (int part = 0; part < 4; ++part)
        model.at(kQuats + part, row) = static_cast<float>(quat[part]);
    model.at(kLogScales + 2, row) += std::log(kSurfaceFlatness);
}

/// Smallest squared size given: a thousandth of the median distance, and 3DGS's absolute 1e-7 where
/// that is smaller still.
float smallest_squared(std::vector<float> squared, float extent) {
    squared.erase(std::remove_if(squared.begin(), squared.end(), [](float d) { return !(d > 0); }),
                  squared.end());
    if (squared.empty())
        return 1e-4f * extent * extent;  // one place only: a hundredth of the scene
    const float middle = upper_median(squared);
    return std::max(std::min(1e-7f, 1e-2f * middle), 1e-6f * middle);
}

/// Of more than `most` points, those at even steps along Morton order: as dense everywhere, in
/// proportion, as all were.
void keep_evenly(std::vector<Vec3f>& points, std::vector<std::size_t>& rows, std::size_t most) {
    if (points.size() <= most) return;
    const std::vector<std::uint32_t> order = morton_order(points);
    std::vector<Vec3f> kept_points(most);
    std::vector<std::size_t> kept_rows(most);
    for (std::size_t i = 0; i < most; ++i) {
        const std::size_t from = order[i * order.size() / most];
        kept_points[i] = points[from];
        kept_rows[i] = rows[from];
    }
    points = std::move(kept_points);
    rows = std::move(kept_rows);
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
    std::vector<std::size_t> training = capture.view_indices(false);
    const std::vector<std::uint8_t> lost = lost_views(capture);
    std::erase_if(training, [&](std::size_t v) { return lost[v] != 0; });
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

Result<GaussianModel> gaussians_from_points(const Capture& capture, int sh_degree, std::size_t most,
                                            const FirstLook& look) {
    std::vector<Vec3f> points;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < capture.points.size(); ++i) {
        const Vec3f p = capture.points[i].position;
        if (!std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.z)) continue;
        points.push_back(p);
        rows.push_back(i);
    }
    keep_evenly(points, rows, most);
    if (rows.empty())
        return fail(ErrorKind::malformed, capture.path,
                    "the capture has no usable 3D points to start from",
                    "add sparse points, or start from random points");
    const PointTree<float> tree(points);
    const std::vector<float> squared = neighbour_distances(tree, points);
    const float smallest = smallest_squared(squared, scene_extent_of(capture));
    GaussianModel model(rows.size(), sh_degree, padded_capacity(rows.size()));
    const std::vector<std::uint32_t> order = morton_order(points);
    const float opacity = look.surfaces ? std::max(look.opacity, kSurfaceOpacity) : look.opacity,
                logit = std::log(opacity / (1.0f - opacity)),
                larger = std::log(look.scale * (look.surfaces ? kSurfaceScale : 1.0f));
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
    if (look.surfaces)
        parallel_for(order.size(), 256, [&](std::size_t row) {
            const SurfaceHere surface = surface_at(tree, points, points[order[row]]);
            if (surface.flat) lay_flat(model, row, surface);
        });
    return model;
}

Result<GaussianModel> gaussians_from_model(const GaussianModel& model, const Capture& capture,
                                           int sh_degree) {
    // Formats that store opacities in bytes have 0 and 1, whose logits are infinite.
    constexpr float kMostLogit = 6;  // of 0.9975
    const auto logit = [&](std::size_t i) {
        const float value = model.at(kOpacityLogits, i);
        return std::isinf(value) ? std::copysign(kMostLogit, value) : value;
    };
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < model.count; ++i) {
        bool finite = true;
        for (int p = 0; p < model.planes(); ++p)
            finite = finite && std::isfinite(p == kOpacityLogits ? logit(i) : model.at(p, i));
        if (finite) rows.push_back(i);
    }
    if (rows.empty())
        return fail(ErrorKind::malformed, "", "no usable Gaussian to start from",
                    "choose another splat file, or start from the capture's points");
    GaussianModel out(rows.size(), sh_degree, padded_capacity(rows.size()));
    for (int p = 0; p < std::min(model.planes(), out.planes()); ++p)
        for (std::size_t row = 0; row < rows.size(); ++row)
            out.at(p, row) = p == kOpacityLogits ? logit(rows[row]) : model.at(p, rows[row]);
    out.set_about(model);
    meet_origin(out, capture.origin);
    return out;
}

TrainingSettings settings_to_continue(TrainingSettings settings, const NamedValues& given,
                                      const GaussianModel& model) {
    const NamedValues fitting{{"lr_means", std::min(1.0, 10 * settings.lr_means_final)},
                              {"sh_degree", std::max<double>(settings.sh_degree, model.sh_degree)},
                              {"sh_interval", 1},
                              {"densify_until", 0},
                              {"opacity_reset_every", 0}};
    for (const auto& [name, value] : fitting)
        if (std::none_of(given.begin(), given.end(),
                         [&name = name](const auto& one) { return one.first == name; }))
            (void)set_setting(settings, name, value);  // in range whatever the others are
    return settings;
}

NamedValues changed_settings(const TrainingSettings& settings) {
    const TrainingSettings usual = usual_beside(settings);
    NamedValues out;
    for (const SettingField& field : setting_fields())
        if (field.of(settings) != field.of(usual)) out.emplace_back(field.name, field.of(settings));
    return out;
}

}  // namespace gs
