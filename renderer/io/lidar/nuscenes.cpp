#include "renderer/io/lidar/nuscenes.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_text.h"
#include "base/try.h"
#include "renderer/io/files/capture_json.h"
#include "renderer/io/files/file_finder.h"
#include "renderer/io/files/file_set.h"

namespace gs {
namespace {

using SampleJson = nlohmann::json;

// A matrix by rows, of at least `rows` x `columns`; numbers that are not there are NaN.
double entry(const SampleJson& matrix, std::size_t row, std::size_t column) {
    if (!matrix.is_array() || row >= matrix.size() || !matrix[row].is_array() ||
        column >= matrix[row].size() || !matrix[row][column].is_number())
        return std::nan("");
    return matrix[row][column].get<double>();
}

std::string words(const SampleJson& json, const char* key) {
    const SampleJson& at = member(json, key);
    return at.is_string() ? at.get<std::string>() : std::string();
}

int side(const SampleJson& json, const char* key) {
    const SampleJson& at = member(json, key);
    const double value = at.is_number() ? at.get<double>() : 0;
    return value >= 1 && value <= 1e6 ? static_cast<int>(value) : 0;
}

// A name that leads out of the folder, or is absolute, is looked for in the folder alone.
fs::path file_named(const std::string& name, const FileFinder& finder, const fs::path& folder,
                    FileFinder::Kind kind) {
    const auto found = finder.find(name, kind);
    if (!found.path.empty()) return found.path;
    return name.empty() || !problem_of_name(name).empty() ? fs::path() : folder / name;
}

std::string read_camera(const SampleJson& json, const FileFinder& finder, const fs::path& folder,
                        NuscenesSample::Photo& out) {
    out.file = file_named(words(json, "image"), finder, folder, FileFinder::Kind::photo);
    if (out.file.empty()) return "its \"image\" is not a file in the folder";
    Camera& c = out.camera;
    c.width = side(json, "width");
    c.height = side(json, "height");
    const SampleJson &k = member(json, "K"), &pose = member(json, "lidar2cam");
    c.fx = entry(k, 0, 0);
    c.fy = entry(k, 1, 1);
    c.cx = entry(k, 0, 2);
    c.cy = entry(k, 1, 2);
    if (!c.valid()) return "its width, height or K is not that of a camera";
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) c.rotation.m[i][j] = entry(pose, i, j);
    c.translation = {entry(pose, 0, 3), entry(pose, 1, 3), entry(pose, 2, 3)};
    const Mat3d square = c.rotation * transpose(c.rotation);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            if (!(std::abs(square.m[i][j] - (i == j ? 1 : 0)) < 1e-3))
                return "its lidar2cam is not a rotation and translation";
    return c.valid() ? "" : "its lidar2cam is not finite";
}

}  // namespace

fs::path find_nuscenes(const fs::path& path) {
    const fs::path json = folder_exists(path) ? path / "sample.json" : path;
    if (json.extension() != ".json") return {};
    const auto text = read_text_file(json, 4 << 20);
    return text && text->find("\"lidar2cam\"") != std::string::npos ? json : fs::path();
}

Result<NuscenesSample> read_nuscenes(const fs::path& path) {
    GS_TRY(const SampleJson json, read_capture_json(path));
    const SampleJson& cameras = member(json, "cameras");
    if (!cameras.is_object())
        return fail(ErrorKind::malformed, path.string(), "has no object \"cameras\"",
                    "a key frame of nuScenes as sample.json is expected");
    NuscenesSample out{.json = path};
    if (const SampleJson& time = member(json, "timestamp"); time.is_number())
        out.time = time.get<double>();
    const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    const FileFinder finder({folder}, FileFinder::Reach::inside);
    for (const auto& [name, camera] : cameras.items()) {
        NuscenesSample::Photo photo{name, {}, {}};
        if (const std::string problem = read_camera(camera, finder, folder, photo); problem.empty())
            out.photos.push_back(std::move(photo));
        else
            out.skipped.push_back(fmt::format("{}: {}", name, problem));
    }
    const std::string sweep = words(member(json, "lidar"), "file");
    out.sweep = file_named(sweep, finder, folder, FileFinder::Kind::any);
    if (out.sweep.empty() && json.contains("lidar"))
        out.skipped.push_back("lidar: its \"file\" is not a file in the folder");
    return out;
}

LidarLog nuscenes_log(const NuscenesSample& sample) {
    LidarLog out{.format = "nuScenes sample", .path = sample.json, .skipped = sample.skipped};
    if (sample.sweep.empty()) return out;
    out.sweeps.push_back({sample.sweep.stem().string(), sample.time});
    out.notes.push_back("one sweep, one pose: all its points are treated as simultaneous");
    const PointFile form{5, true, 255, 32, 1084, 0};
    out.read = [sample, form](std::size_t) -> Result<LidarSweep> {
        GS_TRY(LidarSweep sweep, read_point_file(sample.sweep, form));
        sweep.name = sample.sweep.stem().string();
        sweep.time = sample.time;
        return sweep;
    };
    return out;
}

}  // namespace gs
