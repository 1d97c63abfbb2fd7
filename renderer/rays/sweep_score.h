// A lidar's sweep drawn from a model, and how far it is from what was measured. Called by `render
// --lidar` and `eval --lidar`.
#pragma once

#include "renderer/rays/rays.h"
#include "renderer/scene/lidar_sweep.h"

namespace gs {

struct DrawnSweep {
    RayImage image;                         ///< [beam]
    std::shared_ptr<const RayTiles> tiles;  ///< of its beams
    double milliseconds = 0;
};
/// Every beam from its own place and moment, in the model's world. Ordered by distance from where
/// the sensor was at the sweep's own time. `tiles`: of the same sweep, drawn before; null: they are
/// made.
DrawnSweep draw_sweep(const GaussianModel& model, const LidarSweep& sweep,
                      const Trajectory& world_from_sensor, const RasterRules& rules,
                      std::shared_ptr<const RayTiles> tiles = nullptr);

/// Over the beams that count and that something came back of. The range of a drawn beam is that of
/// the Gaussian at which half of its light is gone; where there is none, the beam meets nothing.
struct SweepScore {
    std::string name;
    std::size_t returns = 0;
    std::size_t met = 0;     ///< of these
    double median_m = 0;     ///< |range difference|; a beam that meets nothing counts as the worst.
                             ///< NaN: more than half of them meet nothing
    double within_10cm = 0;  ///< share of returns
    double chamfer_m = 0;    ///< mean of both ways' mean distances between drawn and measured
                             ///< points; NaN without points
};
/// `all`: also the beams that are not held out (held_out()).
SweepScore score_sweep(const LidarSweep& sweep, const RayImage& drawn, bool all);
/// Of all sweeps: the median of all their range_differences() together, the mean of their Chamfer
/// distances.
SweepScore score_sweeps(const std::vector<SweepScore>& sweeps, std::vector<float> differences);
/// [return that counts] |range difference|, infinity where nothing is met.
std::vector<float> range_differences(const LidarSweep& sweep, const RayImage& drawn, bool all);

}  // namespace gs
