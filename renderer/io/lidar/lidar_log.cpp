#include "renderer/io/lidar/lidar_log.h"

#include "base/try.h"
#include "renderer/io/lidar/kitti.h"
#include "renderer/io/lidar/nuscenes.h"
#include "renderer/io/lidar/ouster.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

Result<LidarLog> open_any_log(const fs::path& path) {
    if (!path_exists(path))
        return fail(ErrorKind::not_found, path.string(), "does not exist", "check the path");
    const auto none = [&] {
        return fail(ErrorKind::not_found, path.string(), "has no sweep of a lidar",
                    "KITTI's velodyne/, nuScenes' sample.json and Ouster's .pcap are read");
    };
    if (const fs::path folder = find_kitti(path); !folder.empty()) {
        GS_TRY(const KittiDrive drive, read_kitti(folder));
        if (!drive.rectified_from_lidar) return none();
        LidarLog log = kitti_log(drive);
        if (log.sweeps.empty()) return none();
        return log;
    }
    if (const fs::path json = find_nuscenes(path); !json.empty()) {
        GS_TRY(const NuscenesSample sample, read_nuscenes(json));
        if (sample.sweep.empty()) return none();
        return nuscenes_log(sample);
    }
    if (const fs::path pcap = find_ouster(path); !pcap.empty()) return open_ouster(pcap);
    return none();
}

}  // namespace

bool is_lidar_log(const fs::path& path) {
    return !find_kitti(path).empty() || !find_nuscenes(path).empty() || !find_ouster(path).empty();
}

Result<LidarLog> open_lidar_log(const fs::path& path, Vec3d origin) {
    GS_TRY(LidarLog log, open_any_log(path));
    log.world_from_sensor = seen_from_zero(log.world_from_sensor, origin);
    return log;
}

}  // namespace gs
