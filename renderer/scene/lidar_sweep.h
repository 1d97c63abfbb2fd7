// One turn of a lidar: what every beam was sent at, when, and what came back. As the sensor
// measured it, in its own axes: the motion within the turn is still in it. Made by the readers of
// io/lidar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "renderer/scene/trajectory.h"

namespace gs {

struct LidarBeam {
    Vec3f origin;                       ///< m, sensor axes: where it starts
    Vec3f direction;                    ///< sensor axes, of length 1
    float range = 0;                    ///< m along the direction; 0: nothing came back
    float intensity = 0;                ///< 0 to 1
    float time = 0;                     ///< s after the sweep's own time; may be negative
    std::uint16_t row = 0, column = 0;  ///< of the range image

    bool hit() const { return range > 0; }
};

struct LidarSweep {
    std::string name;
    double time = 0;  ///< s, on the clock of the log's trajectory
    std::uint32_t rows = 0, columns = 0;
    std::vector<LidarBeam> beams;
    std::vector<std::string> notes;  ///< what was left out, with counts

    std::size_t hits() const {
        std::size_t n = 0;
        for (const LidarBeam& beam : beams) n += beam.hit() ? 1 : 0;
        return n;
    }
};

/// Every fourth column is kept for scoring: it gives no points and is not learned from.
inline bool held_out(const LidarBeam& beam) { return beam.column % 4 == 3; }

/// The beam as a ray in the world, from where the sensor was at its moment.
inline CameraRay world_ray(const LidarBeam& b, const Pose& world_from_sensor) {
    return {world_from_sensor * Vec3d{b.origin.x, b.origin.y, b.origin.z},
            world_from_sensor.rotation * Vec3d{b.direction.x, b.direction.y, b.direction.z}, true};
}
/// Rays of all beams, in their order, also of those without a return.
std::vector<CameraRay> world_rays(const LidarSweep& sweep, const Trajectory& world_from_sensor);

}  // namespace gs
