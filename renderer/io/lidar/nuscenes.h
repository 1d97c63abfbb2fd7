// One key frame of nuScenes as a sample.json: six cameras and a sweep of the lidar on the roof.
// World: the lidar's axes at the sweep (x right, y ahead, z up). Used by open_lidar_log and by the
// capture reader of drives. Source: Caesar et al. 2020.
#pragma once

#include "renderer/io/lidar/lidar_log.h"

namespace gs {

struct NuscenesSample {
    struct Photo {
        std::string name;  ///< "CAM_FRONT"
        fs::path file;
        Camera camera;  ///< the motion of the car since the sweep is in its pose
    };
    fs::path json;
    double time = 0;  ///< s
    std::vector<Photo> photos;
    fs::path sweep;  ///< empty: none
    std::vector<std::string> skipped;
};

/// `path` itself or the sample.json in it; empty if none.
fs::path find_nuscenes(const fs::path& path);
/// Errors: malformed; single cameras that are so are skipped and named.
Result<NuscenesSample> read_nuscenes(const fs::path& json);
LidarLog nuscenes_log(const NuscenesSample& sample);

}  // namespace gs
