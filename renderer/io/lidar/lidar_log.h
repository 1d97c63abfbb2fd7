// Recordings of a lidar, read sweep by sweep: drives in the layout of KITTI, nuScenes' sample, and
// Ouster's packets. `open_lidar_log` finds out which; each kind has a file of its own. Used by
// `gausscope info`, by captures with a lidar, and by what renders and scores sweeps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/scene/lidar_sweep.h"

namespace gs {

struct LidarLog {
    std::string format;  ///< "KITTI odometry", "Ouster OS-1-128", ...
    fs::path path;
    struct Entry {
        std::string name;
        double time = 0;  ///< s
    };
    std::vector<Entry> sweeps;  ///< times ascend
    Trajectory world_from_sensor{};
    bool posed = true;  ///< false: nobody says where the sensor was; it stands at the origin
    std::vector<std::string> skipped, notes;
    /// Sweep `i`. Errors: its file is gone, cut before its first point, or holds nothing usable.
    std::function<Result<LidarSweep>(std::size_t)> read;
};

/// Whether open_lidar_log() would try.
bool is_lidar_log(const fs::path& path);
/// Errors: not_found when nothing of a lidar is there; malformed, with file and place.
/// `origin`: of the capture or the splats that it is used with; poses are less it.
Result<LidarLog> open_lidar_log(const fs::path& path, Vec3d origin = {});

/// Sweeps of x, y, z and intensity as plain float32 records.
struct PointFile {
    std::size_t floats = 4;    ///< of one record: x y z intensity, perhaps a ring
    bool rings = false;        ///< the fifth is the row, counted from below
    float full_intensity = 1;  ///< what intensity is divided by
    std::uint32_t rows = 64, columns = 2000;
    double turn = 0.1;  ///< s; 0: all points of one moment. Clockwise, 0 where it looks along x
};
/// Points that are not finite, too near (0.1 m) or too far (1 km) are left out and counted; so is
/// a record that the file ends in. Without rings, the order of the points gives the rows.
Result<LidarSweep> read_point_file(const fs::path& path, const PointFile& form);

/// As many lines of three rows of a 4 x 4 matrix; a line that is no pose is nullopt and noted.
Result<std::vector<std::optional<Pose>>> read_kitti_poses(const fs::path& path,
                                                          std::vector<std::string>& notes);

}  // namespace gs
