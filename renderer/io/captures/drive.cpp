// Drives as captures: the cameras and photos of a KITTI sequence or a nuScenes key frame, and
// points from the sweeps of its lidar.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/file.h"
#include "base/parallel.h"
#include "base/try.h"
#include "renderer/io/captures/capture_source.h"
#include "renderer/io/lidar/kitti.h"
#include "renderer/io/lidar/nuscenes.h"
#include "renderer/io/lidar/sweep_points.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

constexpr std::uint32_t kSweepsApart = 40;  // photos so far from a point's own sweep may colour it

void add_points(LidarLog& log, CaptureSource& source) {
    // Sweeps are put together near zero, in single precision.
    std::vector<Vec3d> cameras;
    for (const Frame& frame : source.frames) cameras.push_back(frame.camera.position());
    const Vec3d origin = origin_for(cameras, {});
    log.world_from_sensor = seen_from_zero(log.world_from_sensor, origin);
    SweepPoints points = points_of(log);
    for (const SweepPoint& p : points.points) {
        const auto grey = static_cast<std::uint8_t>(40 + 200 * p.intensity);
        source.points.push_back({world_position(p.position, origin), {grey, grey, grey}});
        source.point_sweeps.push_back(p.sweep);
    }
    source.skipped.insert(source.skipped.end(), points.skipped.begin(), points.skipped.end());
    for (std::size_t i = 0; i < std::min<std::size_t>(points.notes.size(), 8); ++i)
        source.notes.push_back(points.notes[i]);
    if (points.notes.size() > 8)
        source.notes.push_back(fmt::format("and {} more sweeps", points.notes.size() - 8));
    source.notes.push_back(fmt::format(
        "lidar: {} points, one a cell of {} m, from {} returns of {} sweeps; {} removed that other "
        "sweeps saw through (moving objects)",
        points.points.size(), points.cell, points.returns, log.sweeps.size(), points.moving));
}

Camera camera_of(const KittiCamera& of, const Pose& world_from_rectified) {
    Camera out;  // its size is the photo's
    out.fx = of.fx;
    out.fy = of.fy;
    out.cx = of.cx;
    out.cy = of.cy;
    const Pose from_world = inverse_of(world_from_rectified);
    out.rotation = from_world.rotation;
    out.translation = from_world.translation + of.place;
    return out;
}

Result<CaptureSource> read_kitti_source(const fs::path& folder) {
    GS_TRY(const KittiDrive drive, read_kitti(folder));
    CaptureSource out{.format = drive.format,
                      .root = folder,
                      .photo_folder = folder,
                      .skipped = drive.skipped,
                      .notes = drive.notes};
    LidarLog log;
    if (drive.rectified_from_lidar) log = kitti_log(drive);
    std::map<std::string, std::uint32_t> sweeps;
    for (std::size_t i = 0; i < log.sweeps.size(); ++i)
        sweeps[log.sweeps[i].name] = static_cast<std::uint32_t>(i);
    for (const KittiFrame& frame : drive.frames)
        for (std::size_t c = 0; c < frame.photos.size(); ++c) {
            if (frame.photos[c].empty()) continue;
            Frame f;
            f.photo = frame.photos[c];
            f.name = f.photo.lexically_relative(folder).generic_string();
            f.camera = camera_of(drive.cameras[c], frame.world_from_rectified);
            f.camera_number = static_cast<std::uint32_t>(c);
            if (const auto it = sweeps.find(frame.name); it != sweeps.end()) f.sweep = it->second;
            out.frames.push_back(std::move(f));
        }
    if (!log.sweeps.empty()) add_points(log, out);
    return out;
}

Result<CaptureSource> read_nuscenes_source(const fs::path& json) {
    GS_TRY(const NuscenesSample sample, read_nuscenes(json));
    CaptureSource out{.format = "nuScenes sample"};
    out.root = out.photo_folder = json.parent_path().empty() ? fs::path(".") : json.parent_path();
    out.skipped = sample.skipped;
    for (const NuscenesSample::Photo& photo : sample.photos) {
        Frame f;
        f.photo = photo.file;
        f.name = photo.file.lexically_relative(out.root).generic_string();
        f.camera = photo.camera;
        f.sweep = 0;
        out.frames.push_back(std::move(f));
    }
    if (LidarLog log = nuscenes_log(sample); !log.sweeps.empty()) add_points(log, out);
    return out;
}

// False where the photo does not show the point.
bool color_from(const Camera& c, const Image8& photo, SparsePoint& point) {
    const Vec3d p =
        c.rotation * Vec3d{point.position.x, point.position.y, point.position.z} + c.translation;
    if (!(c.depth_of(p) > 0.1) || photo.bytes.empty()) return false;
    const Vec2<double> at = c.pixel_of(p);
    if (!(at.x >= 0 && at.x < c.width && at.y >= 0 && at.y < c.height)) return false;
    const std::size_t pixel = static_cast<std::size_t>(at.y) * static_cast<std::size_t>(c.width) +
                              static_cast<std::size_t>(at.x);
    for (std::size_t k = 0; k < 3; ++k) point.rgb[k] = photo.bytes[3 * pixel + k];
    return true;
}

}  // namespace

fs::path find_drive(const fs::path& path) {
    if (const fs::path folder = find_kitti(path); !folder.empty())
        for (const char* part :
             {"image_0", "image_1", "image_2", "image_3", "image_2.png", "image_2.jpg"})
            if (path_exists(folder / part)) return folder;
    return find_nuscenes(path);
}

Result<CaptureSource> read_drive(const fs::path& path) {
    if (const fs::path json = find_nuscenes(path); !json.empty()) return read_nuscenes_source(json);
    return read_kitti_source(path);
}

/// Photo after photo, as they may not all be in memory; of those that show a point the nearest in
/// time colours it, of two as near the earlier one.
void color_points(const std::vector<Frame>& frames, const std::vector<std::uint32_t>& point_sweeps,
                  Capture& capture) {
    std::map<std::string, std::uint32_t> sweep_of_name;
    for (const Frame& frame : frames)
        if (frame.sweep) sweep_of_name[frame.name] = *frame.sweep;
    std::vector<std::uint64_t> best(capture.points.size(), ~std::uint64_t{0});
    for (std::size_t v = 0; v < capture.views.size(); ++v) {
        const View& view = capture.views[v];
        const auto sweep = sweep_of_name.find(view.name);
        if (sweep == sweep_of_name.end()) continue;
        const LentPhoto lent = lend_photo(view);
        parallel_for(capture.points.size(), 256, [&](std::size_t i) {
            const std::int64_t apart =
                static_cast<std::int64_t>(sweep->second) - std::int64_t{point_sweeps[i]};
            const std::uint64_t distance = static_cast<std::uint64_t>(std::abs(apart)),
                                rank =
                                    (2 * distance + (apart > 0 ? 1 : 0)) * capture.views.size() + v;
            if (distance <= kSweepsApart && rank < best[i] &&
                color_from(view.camera, lent.photo(), capture.points[i]))
                best[i] = rank;
        });
    }
}

}  // namespace gs
