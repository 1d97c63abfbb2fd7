#include "renderer/scene/lidar_sweep.h"

#include <optional>

namespace gs {

std::vector<CameraRay> world_rays(const LidarSweep& sweep, const Trajectory& world_from_sensor) {
    std::vector<CameraRay> out;
    out.reserve(sweep.beams.size());
    // Beams of one column share their moment.
    std::optional<float> moment;
    Pose pose;
    for (const LidarBeam& beam : sweep.beams) {
        if (moment != beam.time) {
            moment = beam.time;
            pose = world_from_sensor.at(sweep.time + static_cast<double>(beam.time));
        }
        out.push_back(world_ray(beam, pose));
    }
    return out;
}

}  // namespace gs
