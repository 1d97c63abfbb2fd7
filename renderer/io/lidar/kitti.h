// Drives in the layouts of KITTI: the odometry benchmark's sequences (calib.txt, times.txt,
// poses/NN.txt, image_N/, velodyne/) and single frames of the object benchmark (image_2.*,
// velodyne.bin, calib.txt). World: rectified camera 0 of the first frame, x right, y down, z ahead.
// Used by open_lidar_log and by the capture reader of drives. Source: Geiger et al. 2012, 2013.
#pragma once

#include "renderer/io/lidar/lidar_log.h"

namespace gs {

struct KittiCamera {
    std::string name;  ///< "image_2"
    double fx = 0, fy = 0, cx = 0, cy = 0;
    Vec3d place;  ///< p_camera = p_rectified + place: what the projection's fourth column says
};
struct KittiFrame {
    std::string name;  ///< "000012"
    double time = 0;   ///< s
    Pose world_from_rectified;
    bool timed = false;            ///< its time is later than that of the frame before
    fs::path sweep;                ///< empty: none
    std::vector<fs::path> photos;  ///< by camera; empty: none
};
struct KittiDrive {
    fs::path folder;                   ///< of the sequence
    std::string format;                ///< "KITTI odometry", "KITTI frame"
    std::vector<KittiCamera> cameras;  ///< colour ones; grey ones where there is no other
    std::optional<Pose> rectified_from_lidar;
    std::vector<KittiFrame> frames;  ///< that have a pose
    std::vector<std::string> skipped, notes;
};

/// The sequence's folder: `path` itself, or the first of its sequences/; empty if none.
fs::path find_kitti(const fs::path& path);
/// Errors: malformed or missing calibration and poses, no frame with a pose.
Result<KittiDrive> read_kitti(const fs::path& folder);
LidarLog kitti_log(const KittiDrive& drive);

}  // namespace gs
