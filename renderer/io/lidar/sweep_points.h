// Points of a whole log, each where it was measured: the motion within the sweeps taken out, one a
// cell of a grid, without what moved on its own. Used for the first Gaussians of drives.
#pragma once

#include "base/progress.h"
#include "renderer/io/lidar/lidar_log.h"

namespace gs {

struct SweepPoint {
    Vec3f position;       ///< world
    float intensity = 0;  ///< 0 to 1
    std::uint32_t sweep = 0;
};
/// What became of one sweep.
struct SweepTally {
    std::size_t sweep = 0;
    std::size_t returns = 0;
    std::size_t moving = 0;  ///< of the cells that it was the first to see; left out
};
struct SweepPoints {
    std::vector<SweepPoint> points;
    std::vector<SweepTally> sweeps;  ///< that were read
    std::size_t returns = 0;         ///< looked at
    std::size_t moving = 0;          ///< of points, left out: other sweeps saw through their places
    double cell = 0;                 ///< m, side of the grid's cells
    std::vector<std::string> skipped, notes;
};
/// Of the beams that are not held out, at most `most` points; cells begin at `cell` metres and
/// double until that holds. Of long logs 100 sweeps, evenly spread, are read. Sweeps that cannot be
/// read are skipped and named.
/// `progress`: false from it ends the reading, and what was read until then is given.
SweepPoints points_of(const LidarLog& log, std::size_t most = 200'000, double cell = 0.1,
                      const Progress& progress = {});

}  // namespace gs
