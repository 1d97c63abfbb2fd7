#include "renderer/io/lidar/kitti.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "base/try.h"
#include "renderer/io/files/text_reader.h"

namespace gs {
namespace {

constexpr double kTurn = 0.1;  // s, of the HDL-64E

using Numbers = std::map<std::string, std::vector<double>>;

// "KEY: number number ..." lines.
Result<Numbers> read_calibration(const fs::path& path) {
    GS_TRY(const std::string text, read_text_file(path, 1 << 20));
    Numbers out;
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        std::vector<double>& values = out[std::string(trimmed(line.substr(0, colon)))];
        values.clear();
        line.remove_prefix(colon + 1);
        for (double value = 0; !trimmed(line).empty();) {
            if (!parse_next(line, value) || !std::isfinite(value))
                return fail_at_line(path.string(), lines.number(), "is not a line of numbers",
                                    "copy the drive's calibration again");
            values.push_back(value);
        }
    }
    return out;
}

Result<void> add_camera(const fs::path& path, const Numbers& numbers, int number,
                        KittiDrive& drive) {
    const auto it = numbers.find(fmt::format("P{}", number));
    if (it == numbers.end())
        return fail(ErrorKind::malformed, path.string(),
                    fmt::format("has no P{} for the photos of image_{}", number, number));
    const std::vector<double>& p = it->second;
    if (p.size() != 12 || !(p[0] > 0 && p[5] > 0) || std::abs(p[10] - 1) > 1e-6 ||
        std::abs(p[1]) + std::abs(p[4]) + std::abs(p[8]) + std::abs(p[9]) > 1e-6)
        return fail(ErrorKind::malformed, path.string(),
                    fmt::format("P{} is not the 3 x 4 projection of a pinhole", number));
    KittiCamera camera{fmt::format("image_{}", number), p[0], p[5], p[2], p[6], {}};
    // P = K [I | place].
    camera.place = {(p[3] - p[2] * p[11]) / p[0], (p[7] - p[6] * p[11]) / p[5], p[11]};
    drive.cameras.push_back(std::move(camera));
    return {};
}

// "Tr" of the odometry benchmark; of the object benchmark R0_rect * Tr_velo_to_cam.
Result<void> set_lidar(const fs::path& path, const Numbers& numbers, KittiDrive& drive) {
    const auto find = [&](std::initializer_list<const char*> names, std::size_t size) {
        for (const char* name : names)
            if (const auto it = numbers.find(name);
                it != numbers.end() && it->second.size() == size)
                return it->second.data();
        return static_cast<const double*>(nullptr);
    };
    const double* tr = find({"Tr", "Tr_velo_to_cam", "Tr_velo_cam"}, 12);
    if (tr == nullptr)
        return fail(ErrorKind::malformed, path.string(),
                    "has no Tr of twelve numbers, so the lidar's pose is unknown",
                    "copy the drive's calibration again, or remove velodyne/");
    Pose pose{{{{tr[0], tr[1], tr[2]}, {tr[4], tr[5], tr[6]}, {tr[8], tr[9], tr[10]}}},
              {tr[3], tr[7], tr[11]}};
    const bool whole = numbers.count("Tr") > 0;
    if (const double* r = whole ? nullptr : find({"R0_rect", "R_rect"}, 9); r != nullptr)
        pose = Pose{{{{r[0], r[1], r[2]}, {r[3], r[4], r[5]}, {r[6], r[7], r[8]}}}, {}} * pose;
    const Mat3d square = pose.rotation * transpose(pose.rotation);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            if (!(std::abs(square.m[i][j] - (i == j ? 1 : 0)) < 1e-2))
                return fail(ErrorKind::malformed, path.string(),
                            "Tr does not begin with a rotation");
    drive.rectified_from_lidar = pose;
    return {};
}

// stem -> file, of the files in a folder that end in one of these.
std::map<std::string, fs::path> files_in(const fs::path& folder,
                                         std::initializer_list<const char*> ends) {
    std::map<std::string, fs::path> out;
    std::error_code ignored;
    for (auto it = fs::directory_iterator(folder, ignored); it != fs::end(it);
         it.increment(ignored)) {
        const std::string end = lower_case(it->path().extension().string());
        if (std::any_of(ends.begin(), ends.end(), [&](const char* e) { return end == e; }))
            out[it->path().stem().string()] = it->path();
    }
    return out;
}

Result<void> read_times(KittiDrive& drive, std::vector<double>& times) {
    const fs::path path = drive.folder / "times.txt";
    if (!file_exists(path)) {
        drive.notes.push_back("no times.txt: frames are assumed 0.1 s apart");
        return {};
    }
    GS_TRY(const std::string text, read_text_file(path, 1 << 28));
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
        if (trimmed(line).empty()) continue;
        double value = 0;
        if (!parse_next(line, value) || !std::isfinite(value)) value = std::nan("");
        times.push_back(value);
    }
    return {};
}

Result<std::vector<std::optional<Pose>>> poses_of(KittiDrive& drive) {
    const fs::path folder = fs::absolute(drive.folder).lexically_normal();
    const fs::path named = folder.filename().empty() ? folder.parent_path() : folder;
    for (const fs::path& path :
         {named.parent_path().parent_path() / "poses" / (named.filename().string() + ".txt"),
          named / "poses.txt"})
        if (file_exists(path)) return read_kitti_poses(path, drive.notes);
    return fail(
        ErrorKind::not_found, drive.folder.string(),
        fmt::format(
            "is a KITTI drive without poses: neither ../../poses/{}.txt nor poses.txt exists",
            named.filename().string()),
        "add the file of poses: one line of 3 x 4 numbers per frame");
}

// Frames by the names of photos and sweeps; the n-th line of times and poses is that of name n.
Result<void> list_frames(KittiDrive& drive) {
    std::vector<double> times;
    GS_TRY_VOID(read_times(drive, times));
    GS_TRY(const auto poses, poses_of(drive));
    std::vector<std::map<std::string, fs::path>> photos;
    std::set<std::string> names;
    for (const KittiCamera& camera : drive.cameras) {
        photos.push_back(files_in(drive.folder / camera.name,
                                  {".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff"}));
        for (const auto& [stem, file] : photos.back()) names.insert(stem);
    }
    const auto sweeps = drive.rectified_from_lidar ? files_in(drive.folder / "velodyne", {".bin"})
                                                   : std::map<std::string, fs::path>();
    for (const auto& [stem, file] : sweeps) names.insert(stem);
    std::size_t jumps = 0, unposed = 0;
    double latest = -1e300;
    for (const std::string& name : names) {
        std::size_t index = 0;
        if (!parse_number(std::string_view(name), index)) {
            drive.skipped.push_back(name + ": its name is not a frame number");
            continue;
        }
        if (index >= poses.size() || !poses[index]) {
            if (unposed++ < 3)
                drive.skipped.push_back(fmt::format("{}: the file of poses has none for it", name));
            continue;
        }
        KittiFrame frame{name, kTurn * static_cast<double>(index), *poses[index], true, {}, {}};
        if (!times.empty()) frame.time = index < times.size() ? times[index] : std::nan("");
        frame.timed = frame.time > latest;
        if (frame.timed)
            latest = frame.time;
        else
            ++jumps;
        for (const auto& of_camera : photos) {
            const auto it = of_camera.find(name);
            frame.photos.push_back(it == of_camera.end() ? fs::path() : it->second);
        }
        if (const auto it = sweeps.find(name); it != sweeps.end()) frame.sweep = it->second;
        drive.frames.push_back(std::move(frame));
    }
    if (unposed > 3)
        drive.skipped.push_back(fmt::format("and {} more frames without a pose", unposed - 3));
    if (jumps > 0)
        drive.notes.push_back(
            fmt::format("the clock jumps: the times of {} frames are missing or not increasing; "
                        "their sweeps are skipped, their photos are kept",
                        jumps));
    return {};
}

fs::path photo_of_frame(const fs::path& folder) {
    for (const char* name : {"image_2.png", "image_2.jpg"})
        if (file_exists(folder / name)) return folder / name;
    return {};
}

Result<void> single_frame(const Numbers& numbers, KittiDrive& drive) {
    const fs::path calibration = drive.folder / "calib.txt", photo = photo_of_frame(drive.folder);
    drive.format = "KITTI frame";
    KittiFrame frame{"000000", 0, {}, true, drive.folder / "velodyne.bin", {}};
    if (!photo.empty()) {
        GS_TRY_VOID(add_camera(calibration, numbers, 2, drive));
        frame.photos.push_back(photo);
    }
    GS_TRY_VOID(set_lidar(calibration, numbers, drive));
    drive.frames.push_back(std::move(frame));
    drive.notes.push_back("one frame without poses: its sweep is treated as taken from one place");
    return {};
}

}  // namespace

fs::path find_kitti(const fs::path& path) {
    std::error_code ignored;
    const auto sequence = [&](const fs::path& folder) {
        if (!fs::is_regular_file(folder / "calib.txt", ignored)) return false;
        for (const char* part : {"velodyne", "image_2", "image_0"})
            if (fs::is_directory(folder / part, ignored)) return true;
        return fs::is_regular_file(folder / "velodyne.bin", ignored);
    };
    if (sequence(path)) return path;
    fs::path first;
    for (auto it = fs::directory_iterator(path / "sequences", ignored); it != fs::end(it);
         it.increment(ignored))
        if ((first.empty() || it->path() < first) && sequence(it->path())) first = it->path();
    return first;
}

Result<KittiDrive> read_kitti(const fs::path& folder) {
    KittiDrive out{.folder = folder, .format = "KITTI odometry"};
    const fs::path calibration = folder / "calib.txt";
    GS_TRY(const Numbers numbers, read_calibration(calibration));
    if (file_exists(folder / "velodyne.bin")) {
        GS_TRY_VOID(single_frame(numbers, out));
        return out;
    }
    for (const auto& pair : {std::pair{2, 3}, std::pair{0, 1}}) {
        for (const int number : {pair.first, pair.second})
            if (folder_exists(folder / fmt::format("image_{}", number)))
                GS_TRY_VOID(add_camera(calibration, numbers, number, out));
        if (!out.cameras.empty()) break;
    }
    if (folder_exists(folder / "velodyne")) GS_TRY_VOID(set_lidar(calibration, numbers, out));
    GS_TRY_VOID(list_frames(out));
    if (out.frames.empty())
        return fail(ErrorKind::malformed, folder.string(), "no frame of the drive has a pose",
                    out.skipped.empty() ? "there are neither photos nor sweeps"
                                        : "for example " + out.skipped.front());
    return out;
}

LidarLog kitti_log(const KittiDrive& drive) {
    LidarLog out{.format = drive.format,
                 .path = drive.folder,
                 .skipped = drive.skipped,
                 .notes = drive.notes};
    std::vector<TimedPose> poses;
    std::vector<fs::path> files;
    for (const KittiFrame& frame : drive.frames) {
        if (!frame.timed) continue;
        poses.push_back({frame.time, frame.world_from_rectified * *drive.rectified_from_lidar});
        if (frame.sweep.empty()) continue;
        out.sweeps.push_back({frame.name, frame.time});
        files.push_back(frame.sweep);
    }
    out.world_from_sensor = Trajectory(poses);
    PointFile form{.turn = drive.format == "KITTI frame" ? 0 : kTurn};
    out.read = [files = std::move(files), sweeps = out.sweeps,
                form](std::size_t i) -> Result<LidarSweep> {
        GS_TRY(LidarSweep sweep, read_point_file(files[i], form));
        sweep.name = sweeps[i].name;
        sweep.time = sweeps[i].time;
        return sweep;
    };
    return out;
}

}  // namespace gs
