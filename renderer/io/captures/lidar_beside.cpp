#include "renderer/io/captures/lidar_beside.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/nth.h"
#include "base/try.h"
#include "renderer/io/lidar/lidar_log.h"
#include "renderer/scene/clip_box.h"

namespace gs {
namespace {

/// Fewer returns near the capture than this share: the poses are of another world.
constexpr double kLeastNear = 0.01;

/// Around cameras and points.
ClipBox box_around(const Capture& capture) {
    constexpr float kFar = 1e30f;
    ClipBox box{{kFar, kFar, kFar}, {-kFar, -kFar, -kFar}};
    const auto take = [&](Vec3f p) {
        box.lo = {std::min(box.lo.x, p.x), std::min(box.lo.y, p.y), std::min(box.lo.z, p.z)};
        box.hi = {std::max(box.hi.x, p.x), std::max(box.hi.y, p.y), std::max(box.hi.z, p.z)};
    };
    for (const SparsePoint& point : capture.points) take(point.position);
    for (const View& view : capture.views) {
        const Vec3d p = view.camera.position();
        take({static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)});
    }
    return box;
}

/// Of the returns, those in the box, grown by the middle one of the ranges: points may be few.
double share_near(ClipBox box, const LidarSweep& sweep, const Trajectory& trajectory) {
    const std::vector<CameraRay> rays = world_rays(sweep, trajectory);
    std::vector<Vec3d> returns;
    std::vector<float> ranges;
    for (std::size_t i = 0; i < rays.size(); ++i) {
        const LidarBeam& beam = sweep.beams[i];
        if (!beam.hit()) continue;
        returns.push_back(rays[i].origin + static_cast<double>(beam.range) * rays[i].direction);
        ranges.push_back(beam.range);
    }
    if (returns.empty()) return 0;
    const float by = upper_median(ranges);
    box = {box.lo - Vec3f{by, by, by}, box.hi + Vec3f{by, by, by}};
    const auto near = std::ranges::count_if(returns, [&](Vec3d p) { return box.holds(p); });
    return static_cast<double>(near) / static_cast<double>(returns.size());
}

/// The recording's own path.
Result<fs::path> check_beside(const std::string& path, const Capture& capture) {
    GS_TRY(const LidarLog log, open_lidar_log(path, capture.origin));
    if (!log.posed)
        return fail(ErrorKind::usage, path, "nothing says where the lidar was: it has no poses",
                    "put NAME_poses_kitti.txt or poses.txt beside it, a line a sweep");
    if (log.sweeps.empty()) return fail(ErrorKind::usage, path, "has no sweep with a pose");
    const std::size_t middle = log.sweeps.size() / 2;
    GS_TRY(const LidarSweep sweep, log.read(middle));
    if (share_near(box_around(capture), sweep, log.world_from_sensor) < kLeastNear)
        return fail(ErrorKind::usage, path,
                    fmt::format("sweep {} lies apart from the cameras and points of {}: its poses "
                                "are of another world, or of another clock",
                                log.sweeps[middle].name, capture.path),
                    "give it poses in the capture's world, in metres");
    return log.path;
}

}  // namespace

Result<void> join_lidars(const CaptureOptions& options, Capture& capture) {
    const auto own = open_lidar_log(capture.path);
    std::vector<fs::path> taken;
    if (own) capture.lidars.push_back(capture.path), taken.push_back(own->path);
    for (const std::string& path : options.lidars) {
        std::error_code error;
        const Result<fs::path> recording = check_beside(path, capture);
        if (!recording && options.lidars_of_run) {
            capture.skipped.push_back("the run's lidar recording is gone: " +
                                      recording.error().text());
            continue;
        }
        if (!recording) return tl::unexpected(recording.error());
        const bool known = std::ranges::any_of(
            taken, [&](const fs::path& other) { return fs::equivalent(*recording, other, error); });
        if (known) continue;
        taken.push_back(*recording);
        capture.lidars.push_back(path);
    }
    return {};
}

}  // namespace gs
