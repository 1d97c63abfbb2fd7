#include "renderer/rays/sweep_score.h"

#include <chrono>
#include <cmath>
#include <limits>

#include "base/nth.h"
#include "base/parallel.h"
#include "base/seconds.h"
#include "renderer/scene/point_tree.h"

namespace gs {
namespace {

/// Mean distance of a's points to the nearest of b.
double mean_distance(const std::vector<Vec3f>& a, const std::vector<Vec3f>& b) {
    const PointTree<float> tree(b);
    std::vector<float> squared(a.size());
    parallel_for(a.size(), 256, [&](std::size_t i) {
        std::uint32_t index = 0;
        tree.nearest(a[i], 1, &index, &squared[i]);
    });
    double sum = 0;
    for (const float s : squared) sum += std::sqrt(static_cast<double>(s));
    return sum / static_cast<double>(a.size());
}

double median_of(std::vector<float> values) {
    if (values.empty()) return std::nan("");
    const auto middle = static_cast<double>(upper_median(values));
    return std::isfinite(middle) ? middle : std::nan("");
}

}  // namespace

DrawnSweep draw_sweep(const GaussianModel& model, const LidarSweep& sweep,
                      const Trajectory& world_from_sensor, const RasterRules& rules,
                      std::shared_ptr<const RayTiles> tiles) {
    const auto begin = std::chrono::steady_clock::now();
    const Pose middle = world_from_sensor.at(sweep.time);
    if (!tiles)
        tiles = std::make_shared<const RayTiles>(world_rays(sweep, world_from_sensor),
                                                 inverse_of(middle));
    return {.image = trace_rays(model, {}, *tiles, {middle.translation, {}}, rules),
            .tiles = std::move(tiles),
            .milliseconds = 1000 * seconds_since(begin)};
}

std::vector<float> range_differences(const LidarSweep& sweep, const RayImage& drawn, bool all) {
    std::vector<float> out;
    for (std::size_t i = 0; i < sweep.beams.size(); ++i) {
        const LidarBeam& beam = sweep.beams[i];
        if (!beam.hit() || !(all || held_out(beam))) continue;
        out.push_back(drawn.median[i] > 0 ? std::abs(drawn.median[i] - beam.range)
                                          : std::numeric_limits<float>::infinity());
    }
    return out;
}

SweepScore score_sweep(const LidarSweep& sweep, const RayImage& drawn, bool all) {
    SweepScore out{.name = sweep.name};
    std::vector<Vec3f> measured, met;
    for (std::size_t i = 0; i < sweep.beams.size(); ++i) {
        const LidarBeam& beam = sweep.beams[i];
        if (!beam.hit() || !(all || held_out(beam))) continue;
        measured.push_back(beam.origin + beam.range * beam.direction);
        if (drawn.median[i] > 0) met.push_back(beam.origin + drawn.median[i] * beam.direction);
    }
    const std::vector<float> differences = range_differences(sweep, drawn, all);
    out.returns = differences.size();
    out.met = met.size();
    out.median_m = median_of(differences);
    std::size_t within = 0;
    for (const float d : differences) within += d <= 0.1f ? 1 : 0;
    out.within_10cm =
        out.returns > 0 ? static_cast<double>(within) / static_cast<double>(out.returns) : 0;
    out.chamfer_m = met.empty() || measured.empty()
                        ? std::nan("")
                        : 0.5 * (mean_distance(met, measured) + mean_distance(measured, met));
    return out;
}

SweepScore score_sweeps(const std::vector<SweepScore>& sweeps, std::vector<float> differences) {
    SweepScore out{.name = "all"};
    double chamfer = 0, within = 0;
    std::size_t with_points = 0;
    for (const SweepScore& s : sweeps) {
        out.returns += s.returns;
        out.met += s.met;
        within += s.within_10cm * static_cast<double>(s.returns);
        if (!std::isfinite(s.chamfer_m)) continue;
        chamfer += s.chamfer_m;
        ++with_points;
    }
    out.median_m = median_of(std::move(differences));
    out.within_10cm = out.returns > 0 ? within / static_cast<double>(out.returns) : 0;
    out.chamfer_m = with_points > 0 ? chamfer / static_cast<double>(with_points) : std::nan("");
    return out;
}

}  // namespace gs
