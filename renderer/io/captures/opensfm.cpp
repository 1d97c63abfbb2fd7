// OpenSfM's reconstruction.json, as also written by OpenDroneMap: cameras with intrinsics in units
// of the photo's longer side, shots with a camera-from-world pose as angle-axis and translation,
// points with colours. Formulas of its cameras: its documentation, "Geometric models".
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/try.h"
#include "renderer/io/captures/capture_source.h"
#include "renderer/io/captures/colmap_folders.h"
#include "renderer/io/files/capture_json.h"
#include "renderer/io/files/file_finder.h"
#include "renderer/io/files/text_reader.h"

namespace gs {
namespace {

using SfmJson = nlohmann::json;

// `usual` where the key is missing; NaN, and named in `wrong`, where it has no number.
double sfm_number(const SfmJson& json, const char* key, double usual, std::string& wrong) {
    const auto it = json.find(key);
    if (it == json.end()) return usual;
    std::string problem = why_no_number(*it, key);
    if (problem.empty()) return it->get<double>();
    if (wrong.empty()) wrong = std::move(problem);
    return std::nan("");
}

std::optional<Vec3d> sfm_vector(const SfmJson& json, const char* key) {
    const auto it = json.find(key);
    if (it == json.end() || !it->is_array() || it->size() != 3) return {};
    std::array<double, 3> v{};
    for (std::size_t i = 0; i < 3; ++i) {
        if (!(*it)[i].is_number() || !std::isfinite((*it)[i].get<double>())) return {};
        v[i] = (*it)[i].get<double>();
    }
    return Vec3d{v[0], v[1], v[2]};
}

std::string sfm_text(const SfmJson& json, const char* key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// Its models that are ours, and the keys of their distortion in Camera's order.
struct SfmLens {
    const char* name;
    CameraModel model;
    bool two_focals;  // focal_x, focal_y, c_x, c_y; else one focal, centred
    std::array<const char*, 6> keys{};
};
constexpr SfmLens kSfmLenses[] = {
    {"perspective", CameraModel::radial, false, {"k1", "k2"}},
    {"simple_radial", CameraModel::simple_radial, true, {"k1"}},
    {"radial", CameraModel::radial, true, {"k1", "k2"}},
    {"brown", CameraModel::full_opencv, true, {"k1", "k2", "p1", "p2", "k3"}},
    {"fisheye", CameraModel::opencv_fisheye, false, {"k1", "k2"}},
    {"fisheye_opencv", CameraModel::opencv_fisheye, true, {"k1", "k2", "k3", "k4"}},
    {"spherical", CameraModel::equirectangular, false},
    {"equirectangular", CameraModel::equirectangular, false}};

// Why no photo of this camera can be used; empty: they can.
std::string sfm_camera(const SfmJson& json, Camera& out) {
    if (!json.is_object()) return "its camera is not an object";
    const std::string model = sfm_text(json, "projection_type");
    const auto* lens = std::find_if(std::begin(kSfmLenses), std::end(kSfmLenses),
                                    [&](const SfmLens& known) { return model == known.name; });
    if (lens == std::end(kSfmLenses))
        return fmt::format("projection_type \"{}\" is not supported; undistort the photos first",
                           model);
    std::string wrong;
    const auto number = [&](const char* key, double usual) {
        return sfm_number(json, key, usual, wrong);
    };
    const double width = number("width", 0), height = number("height", 0);
    if (!wrong.empty()) return wrong;
    if (!(width >= 1 && height >= 1 && width <= 1e6 && height <= 1e6))
        return fmt::format("camera size {} x {} is not valid", width, height);
    out = {};
    out.model = lens->model;
    out.width = static_cast<int>(std::lround(width));
    out.height = static_cast<int>(std::lround(height));
    if (out.model == CameraModel::equirectangular) {
        out = sphere_camera(out);
        return {};
    }
    const double side = std::max(out.width, out.height);
    const double focal = number(lens->two_focals ? "focal_x" : "focal", 0);
    out.fx = focal * side;
    out.fy = (lens->two_focals ? number("focal_y", focal) : focal) * side;
    // Its pictures' middle is (0, 0), wherever it counts pixels from.
    out.cx = 0.5 * out.width + (lens->two_focals ? number("c_x", 0) * side : 0);
    out.cy = 0.5 * out.height + (lens->two_focals ? number("c_y", 0) * side : 0);
    for (std::size_t i = 0; i < lens->keys.size() && lens->keys[i] != nullptr; ++i)
        out.distortion[i] = number(lens->keys[i], 0);
    if (!wrong.empty()) return wrong;
    return out.valid() ? "" : "focal length or another camera number is not usable";
}

// Rodrigues.
Mat3d rotation_from_axis(Vec3d v) {
    const double angle = std::sqrt(dot(v, v));
    const double s = angle > 1e-12 ? std::sin(0.5 * angle) / angle : 0.5;
    return rotation_from_quat(Quatd{std::cos(0.5 * angle), s * v.x, s * v.y, s * v.z});
}

std::string sfm_pose(const SfmJson& shot, Camera& camera) {
    const auto axis = sfm_vector(shot, "rotation"), translation = sfm_vector(shot, "translation");
    if (!axis || !translation) return "rotation or translation is not three finite numbers";
    camera.rotation = rotation_from_axis(*axis);
    camera.translation = *translation;
    return {};
}

struct SfmCamera {
    Camera camera;
    std::string problem;
};

// image_list.txt beside the file: where photos were when they were posed, for those that are not
// where they usually are. By their last names.
std::map<std::string, std::string> read_image_list(const fs::path& folder) {
    std::map<std::string, std::string> out;
    const auto text = read_text_file(folder / "image_list.txt", 64 << 20);
    if (!text) return out;
    LineReader lines(*text);
    for (std::string_view line; lines.next(line);)
        if (const std::string name = portable_name(line); !name.empty())
            out.emplace(fs::path(name).filename().string(), std::string(trimmed(line)));
    return out;
}

// The photo of a shot, and what it is called here.
std::string sfm_photo(const std::string& shot, const FileFinder& finder,
                      const std::map<std::string, std::string>& listed, FoundNames& names,
                      const CaptureSource& source, Frame& frame) {
    auto found = finder.find(shot, FileFinder::Kind::photo);
    if (found.path.empty())
        if (const auto it = listed.find(fs::path(shot).filename().string()); it != listed.end())
            found = finder.find(it->second, FileFinder::Kind::photo);
    names.add(shot, found);
    frame.name = fs::path(shot).lexically_normal().generic_string();
    frame.photo = found.path.empty() ? source.photo_folder / frame.name : found.path;
    frame.guessed = found.guessed;
    frame.shrunk = found.shrunk;
    if (!found.path.empty() && !found.as_written)
        frame.name = name_outside(found.path, source.photo_folder);
    return found.problem;
}

void read_shots(const SfmJson& json, const fs::path& folder, CaptureSource& source) {
    const FileFinder finder({source.photo_folder, folder, folder / ".."});
    const auto listed = read_image_list(folder);
    FoundNames names;
    std::map<std::string, SfmCamera> cameras;
    if (const auto list = json.find("cameras"); list != json.end() && list->is_object())
        for (const auto& [name, camera] : list->items()) {
            SfmCamera& one = cameras[name];
            one.problem = sfm_camera(camera, one.camera);
        }
    for (const auto& [name, shot] : json.at("shots").items()) {
        Frame frame;
        std::string problem = sfm_photo(name, finder, listed, names, source, frame);
        if (!shot.is_object()) problem = "its shot is not an object";
        const auto camera =
            problem.empty() ? cameras.find(sfm_text(shot, "camera")) : cameras.end();
        if (problem.empty() && camera == cameras.end()) problem = "its camera is not in the file";
        if (problem.empty()) problem = camera->second.problem;
        if (problem.empty()) {
            frame.camera = camera->second.camera;
            frame.camera_number =
                static_cast<std::uint32_t>(std::distance(cameras.begin(), camera));
            problem = sfm_pose(shot, frame.camera);
        }
        if (problem.empty())
            source.frames.push_back(std::move(frame));
        else
            source.skipped.push_back(fmt::format("{}: {}", frame.name, problem));
    }
    for (std::string& note : names.notes("photos")) source.notes.push_back(std::move(note));
}

void read_sfm_points(const SfmJson& json, CaptureSource& source) {
    const auto list = json.find("points");
    if (list == json.end() || !list->is_object()) return;
    std::size_t bad = 0;
    bool colored = false;
    for (const auto& [name, point] : list->items()) {
        const auto at = point.is_object() ? sfm_vector(point, "coordinates") : std::nullopt;
        if (!at || std::abs(at->x) > 1e30 || std::abs(at->y) > 1e30 || std::abs(at->z) > 1e30) {
            ++bad;
            continue;
        }
        SourcePoint out{*at};
        if (const auto color = sfm_vector(point, "color")) {
            colored = true;
            const double rgb[3] = {color->x, color->y, color->z};
            for (int c = 0; c < 3; ++c)
                out.rgb[c] = static_cast<std::uint8_t>(std::clamp(rgb[c], 0.0, 255.0) + 0.5);
        }
        source.points.push_back(out);
    }
    source.points_have_colors = colored;
    if (bad > 0)
        source.notes.push_back(
            fmt::format("{} points without a finite position were dropped", bad));
}

bool has_shots(const SfmJson& json) {
    return json.is_object() && json.contains("shots") && json.at("shots").is_object();
}

// The folder that holds the photos: beside the file, or beside its folder (OpenDroneMap).
fs::path sfm_photo_folder(const fs::path& folder, const SfmJson& shots) {
    constexpr std::size_t kLookedAt = 256;
    const fs::path candidates[] = {FileFinder({folder}).folder("images"),
                                   FileFinder({folder / ".."}).folder("images"), folder};
    for (const fs::path& candidate : candidates) {
        if (candidate.empty()) continue;
        const FileFinder photos({candidate});
        std::size_t looked = 0;
        for (const auto& shot : shots.items()) {
            if (!photos.find(shot.key(), FileFinder::Kind::photo).path.empty())
                return candidate.lexically_normal();
            if (++looked == kLookedAt) break;
        }
    }
    return folder / "images";
}

// Of several the one called `wanted` by its number, else the one of the most photos.
Result<const SfmJson*> choose_part(const fs::path& path, const SfmJson& json,
                                   const std::string& wanted, CaptureSource& source) {
    const SfmJson *most = nullptr, *named = nullptr;
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (!has_shots(json[i])) continue;
        const std::size_t shots = json[i].at("shots").size();
        source.models.push_back(
            fmt::format("{} ({} {})", i, shots, shots == 1 ? "photo" : "photos"));
        if (wanted == std::to_string(i)) named = &json[i];
        if (most == nullptr || shots > most->at("shots").size()) {
            most = &json[i];
            if (wanted.empty()) source.model = std::to_string(i);
        }
    }
    if (most == nullptr)
        return fail(ErrorKind::malformed, path.string(), "has no reconstruction with \"shots\"",
                    "is it OpenSfM's reconstruction.json?");
    if (!wanted.empty() && named == nullptr) return no_such_model(path, wanted, source.models);
    if (!wanted.empty()) source.model = wanted;
    if (source.models.size() == 1) source.models.clear();
    return named != nullptr ? named : most;
}

}  // namespace

fs::path find_opensfm(const fs::path& path) {
    if (file_exists(path))
        return head_has(path, "\"shots\"") || head_has(path, "\"projection_type\"") ? path
                                                                                    : fs::path();
    for (const char* place : {"reconstruction.json", "opensfm/reconstruction.json"})
        if (file_exists(path / place)) return path / place;
    return {};
}

Result<CaptureSource> read_opensfm(const fs::path& path, const std::string& wanted) {
    GS_TRY(auto json, read_capture_json(path));
    // A list, as parts that could not be joined have worlds of their own.
    if (!json.is_array()) {
        SfmJson one = std::move(json);
        json = SfmJson::array();
        json.push_back(std::move(one));
    }
    CaptureSource source{.format = "OpenSfM"};
    GS_TRY(const SfmJson* part, choose_part(path, json, wanted, source));
    const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    source.photo_folder = sfm_photo_folder(folder, part->at("shots"));
    source.root = source.photo_folder.parent_path();
    source.list_folders = {folder, source.root};
    read_shots(*part, folder, source);
    read_sfm_points(*part, source);
    return source;
}

}  // namespace gs
