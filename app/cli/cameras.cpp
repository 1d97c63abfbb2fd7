#include "app/cli/cameras.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/report.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/try.h"
#include "renderer/io/paths/path_io.h"
#include "renderer/scene/origin.h"
#include "trainer/run/pose_file.h"

namespace gs::cli {
namespace {

constexpr double kDegree = 3.14159265358979323846 / 180;

double length(Vec3d v) { return std::sqrt(dot(v, v)); }
Vec3d unit(Vec3d v) { return length(v) > 0 ? (1 / length(v)) * v : Vec3d{0, 0, 1}; }

bool all_numbers(const Json& list, std::size_t n) {
    return list.is_array() && list.size() == n && std::ranges::all_of(list, &Json::is_number);
}
std::optional<Vec3d> vector_in(const Json& item, const char* name) {
    if (!item.contains(name) || !all_numbers(item[name], 3)) return std::nullopt;
    return Vec3d{item[name][0].get<double>(), item[name][1].get<double>(),
                 item[name][2].get<double>()};
}
std::optional<double> number_in(const Json& item, const char* name) {
    if (!item.contains(name) || !item[name].is_number()) return std::nullopt;
    return item[name].get<double>();
}

// The error message, or empty.
std::string read_lens(const Json& item, Camera& camera) {
    const auto width = number_in(item, "width"), height = number_in(item, "height");
    if (!width || !height || *width < 1 || *height < 1 || *width > 32768 || *height > 32768)
        return "\"width\" and \"height\" must be numbers from 1 to 32768";
    camera.width = static_cast<int>(*width);
    camera.height = static_cast<int>(*height);
    if (const auto fov = number_in(item, "fov_y")) {
        if (!(*fov > 0 && *fov < 180)) return "\"fov_y\" must be between 0 and 180 degrees";
        camera.fx = camera.fy = camera.height / (2 * std::tan(*fov * kDegree / 2));
    } else {
        const auto fx = number_in(item, "fx");
        if (!fx) return "both \"fx\" and \"fov_y\" are missing";
        camera.fx = *fx;
        camera.fy = number_in(item, "fy").value_or(*fx);
    }
    camera.cx = number_in(item, "cx").value_or(camera.width / 2.0);
    camera.cy = number_in(item, "cy").value_or(camera.height / 2.0);
    return {};
}

std::string read_matrix(const Json& rows, Camera& camera) {
    if (!rows.is_array() || (rows.size() != 3 && rows.size() != 4))
        return "\"camera_from_world\" must have 3 or 4 rows";
    double t[3];
    for (int i = 0; i < 3; ++i) {
        const auto row = static_cast<std::size_t>(i);
        if (!all_numbers(rows[row], 4))
            return "each row of \"camera_from_world\" must have 4 numbers";
        for (int j = 0; j < 3; ++j)
            camera.rotation.m[i][j] = rows[row][static_cast<std::size_t>(j)].get<double>();
        t[i] = rows[row][3].get<double>();
    }
    camera.translation = {t[0], t[1], t[2]};
    return {};
}

std::string read_pose(const Json& item, Camera& camera) {
    if (item.contains("camera_from_world")) return read_matrix(item["camera_from_world"], camera);
    const auto position = vector_in(item, "position");
    if (!position) return "both \"camera_from_world\" and \"position\" are missing";
    if (item.contains("rotation")) {
        const Json& rows = item["rotation"];
        if (!rows.is_array() || rows.size() != 3 ||
            !std::ranges::all_of(rows, [](const Json& r) { return all_numbers(r, 3); }))
            return "\"rotation\" must be 3 rows of 3 numbers";
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j) camera.rotation.m[j][i] = rows[i][j].get<double>();
        camera.translation = -(camera.rotation * *position);
        return {};
    }
    const auto target = vector_in(item, "target");
    if (!target) return "\"position\" needs \"rotation\" or \"target\" as well";
    const Camera pose = look_at(*position, *target, vector_in(item, "up").value_or(Vec3d{0, -1, 0}),
                                camera.width, camera.height, 1);
    camera.rotation = pose.rotation;
    camera.translation = pose.translation;
    return {};
}

// Rows must be orthonormal, or pictures come out skewed.
bool is_rotation(const Mat3d& r) {
    const Mat3d product = r * transpose(r);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            if (!(std::abs(product.m[i][j] - (i == j ? 1 : 0)) < 1e-3)) return false;
    return true;
}

// The point nearest to all optical axes: sum over cameras of (I - d d^T) (p - position) = 0. Solved
// by Cramer's rule.
Vec3d focus_of(const Capture& capture) {
    Mat3d a;
    Vec3d b;
    for (const View& view : capture.views) {
        const Vec3d d = view.camera.forward(), p = view.camera.position();
        const double v[3] = {d.x, d.y, d.z}, w[3] = {p.x, p.y, p.z};
        double right[3] = {0, 0, 0};
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                const double e = (i == j ? 1 : 0) - v[i] * v[j];
                a.m[i][j] += e;
                right[i] += e * w[j];
            }
        b += Vec3d{right[0], right[1], right[2]};
    }
    const auto row = [&](int i) {
        return Vec3d{a.m[i][0], a.m[i][1], a.m[i][2]};
    };  // symmetric: rows are columns
    const double det = dot(row(0), cross(row(1), row(2)));
    if (std::abs(det) < 1e-9)
        return capture.views.front().camera.position() + capture.views.front().camera.forward();
    return {dot(b, cross(row(1), row(2))) / det, dot(row(0), cross(b, row(2))) / det,
            dot(row(0), cross(row(1), b)) / det};
}

constexpr std::size_t kMostOnPath = 100000;  // pictures along a path

/// A way around the scene that needs no file.
struct PresetPath {
    PathPreset preset;
    int count;  // pictures
};

/// Nothing: it is a file.
Result<std::optional<PresetPath>> preset_in(const std::string& text) {
    for (std::size_t i = 0; i < kPathPresetNames.size(); ++i) {
        const std::string name = std::string(kPathPresetNames[i]) + ":";
        if (!text.starts_with(name)) continue;
        const char* const digits = text.c_str() + name.size();
        char* end = nullptr;
        const long count = std::strtol(digits, &end, 10);
        if (end == digits || *end != 0 || count < 1 || count > static_cast<long>(kMostOnPath))
            return fail(ErrorKind::usage, "", fmt::format("the path \"{}\" is not known", text),
                        fmt::format("{}N draws N pictures, 1 to {}", name, kMostOnPath));
        return PresetPath{static_cast<PathPreset>(i), static_cast<int>(count)};
    }
    if (!path_exists(text))
        return fail(ErrorKind::usage, "", fmt::format("the path \"{}\" is not known", text),
                    "use orbit:N, spiral:N or dolly:N for N pictures, or name a camera path file");
    return std::nullopt;
}

std::vector<PathPose> poses_of(const PresetPath& path, const PathPlace& place) {
    std::vector<PathPose> out;
    // A circle ends one picture before it begins again.
    const int steps = path.preset == PathPreset::orbit ? path.count : std::max(1, path.count - 1);
    for (int i = 0; i < path.count; ++i)
        out.push_back(preset_pose(path.preset, place, static_cast<double>(i) / steps));
    return out;
}

}  // namespace

Camera resized(const Camera& camera, int width, int height) {
    if (width <= 0 && height <= 0) return camera;
    const double shape = static_cast<double>(camera.width) / camera.height;
    if (width <= 0) width = static_cast<int>(std::lround(height * shape));
    if (height <= 0) height = static_cast<int>(std::lround(width / shape));
    return camera.scaled_to(std::max(width, 1), std::max(height, 1));
}

Result<std::vector<NamedCamera>> read_cameras(const std::string& path, Vec3d origin) {
    GS_TRY(const auto text, read_text_file(path, 256u << 20));
    GS_TRY(Json list, parse_json<Json>(text, path));
    if (list.is_object() && list.contains("cameras")) list = Json(list["cameras"]);
    if (!list.is_array() || list.empty())
        return fail(ErrorKind::malformed, path, "contains no list of cameras",
                    "docs/cli.md has the format");
    std::vector<NamedCamera> out;
    for (const Json& item : list) {
        NamedCamera named{fmt::format("camera_{:04}", out.size()), {}};
        std::string wrong =
            item.is_object() ? read_lens(item, named.camera) : "it is not an object";
        if (wrong.empty()) wrong = read_pose(item, named.camera);
        if (wrong.empty() && (!named.camera.valid() || !is_rotation(named.camera.rotation)))
            wrong = "not a valid camera (focal lengths positive, rotation orthonormal, all finite)";
        if (!wrong.empty())
            return fail(ErrorKind::malformed, path, fmt::format("camera {}: {}", out.size(), wrong),
                        "docs/cli.md has the format");
        for (const char* key : {"name", "img_name"})
            if (item.contains(key) && item[key].is_string())
                named.name = fs::path(item[key].get<std::string>()).stem().string();
        named.camera = seen_from_zero(named.camera, origin);
        out.push_back(std::move(named));
    }
    return out;
}

Result<RunPhotos> photos_of(const PathContents& scene, const std::string& capture,
                            CaptureArguments given, const CommonArguments& common,
                            const std::string& background) {
    given.background = background;
    GS_TRY(const CaptureOptions here, capture_options(given, common));
    RunPhotos out =
        scene.path.empty() ? RunPhotos{{}, here} : photos_of_run(scene.folder(), {}, here);
    if (out.capture.empty()) {
        if (capture.empty())
            return fail(ErrorKind::usage, scene.path, "does not name its capture",
                        fmt::format("name the photos: gausscope eval {} CAPTURE", scene.path));
        return RunPhotos{capture, here};
    }
    if (std::error_code ignored;
        !capture.empty() && !fs::equivalent(capture, out.capture, ignored)) {
        log_info("{} is read as the run read {}", capture, out.capture);
        // Its poses may come from elsewhere.
        if (fs::exists(out.capture, ignored) && out.loading.model != kFirstModel &&
            !fs::exists(fs::path(capture) / out.loading.model, ignored))
            out.loading.model.clear();
        out.capture = capture;
    }
    GS_TRY(out.loading, over_known(std::move(out.loading), given, common));
    return out;
}

CheckpointViews take_learned_views(const PathContents& scene, Capture& capture) {
    if (scene.model_kind() != PathKind::checkpoint) return {};
    auto learned = read_checkpoint_views(scene.model(), capture);
    CheckpointViews out;
    if (learned) {
        out = std::move(*learned);
        if (!out.cameras.empty()) log_info("with the cameras that the run corrected");
    } else if (auto stored = read_poses(scene.folder() / "poses.json", capture);
               stored && stored->found > 0) {
        log_info("with the cameras that the run corrected of {} of {} photos, by their names",
                 stored->found, capture.views.size());
        out.cameras = std::move(stored->cameras);
        if (const auto head = read_checkpoint_head(scene.model());
            head && head->settings.appearance != AppearanceMode::none &&
            std::ranges::any_of(capture.views, has_photo))
            log_warning("the run's learned camera looks are not used: {}", learned.error().text());
    } else {
        log_warning("the run's learned camera looks and corrected cameras are not used: {}",
                    learned.error().text());
    }
    for (std::size_t v = 0; v < out.cameras.size(); ++v) capture.views[v].camera = out.cameras[v];
    return out;
}

std::vector<NamedCamera> cameras_of(const Capture& capture, bool test_only) {
    std::vector<NamedCamera> out;
    for (const View& view : capture.views) {
        if (test_only && !view.test) continue;
        std::string name = fs::path(view.name).replace_extension().string();
        std::ranges::replace(name, '/', '_');
        out.push_back({std::move(name), view.camera});
    }
    return out;
}

PathPlace place_of(const Capture& capture) {
    PathPlace place;
    if (capture.views.empty()) return place;
    place.center = focus_of(capture);
    Vec3d up{};
    double distance = 0;
    for (const View& view : capture.views) {
        const Mat3d& r = view.camera.rotation;
        up += Vec3d{-r.m[1][0], -r.m[1][1], -r.m[1][2]};
        distance += length(view.camera.position() - place.center);
    }
    const double n = static_cast<double>(capture.views.size());
    place.up = unit(up);
    place.radius = distance / n;
    double height = 0;
    for (const View& view : capture.views)
        height += dot(view.camera.position() - place.center, place.up);
    place.elevation = std::asin(std::clamp(height / n / place.radius, -0.99, 0.99));
    const Camera& first = capture.views.front().camera;
    place.fov_y = 2 * std::atan(first.height / (2 * first.fy));
    return place;
}

Result<PathCameras> path_cameras(const PathRequest& request, const PathPlace& place) {
    GS_TRY(const auto preset, preset_in(request.path));
    Film film{{}, 1280, 720};
    std::vector<PathPose> poses;
    PathCameras out;
    if (preset) {
        poses = poses_of(*preset, place);
    } else {
        GS_TRY(PathFile file, read_path_file(request.path, request.origin));
        film = file.film;
        out.notes = std::move(file.notes);
        // Its own program draws the pictures that are in it; other rates are between them.
        const bool as_listed = !file.frames.empty() && request.fps == 0;
        if (!as_listed &&
            pictures_of(film.path, request.fps > 0 ? request.fps : film.fps) > kMostOnPath)
            return fail(ErrorKind::usage, request.path,
                        fmt::format("this path has more than {} pictures", kMostOnPath),
                        "a lower --fps draws fewer");
        poses = as_listed
                    ? std::move(file.frames)
                    : poses_along(film.path,
                                  pictures_of(film.path, request.fps > 0 ? request.fps : film.fps));
    }
    out.fps = request.fps > 0 ? request.fps : film.fps;
    const double aspect = static_cast<double>(film.width) / film.height;
    const int width = request.width > 0    ? request.width
                      : request.height > 0 ? static_cast<int>(std::lround(request.height * aspect))
                                           : film.width;
    const int height =
        request.height > 0 ? request.height : static_cast<int>(std::lround(width / aspect));
    for (const PathPose& pose : poses)
        out.cameras.push_back(
            {fmt::format("frame_{:04}", out.cameras.size()),
             through(film.lens, camera_of(pose, std::max(width, 1), std::max(height, 1)))});
    return out;
}

std::vector<NamedCamera> orbit_cameras(const PathPlace& place, int count, int width, int height) {
    PathCameras out = *path_cameras({fmt::format("orbit:{}", count), width, height}, place);
    return std::move(out.cameras);
}

}  // namespace gs::cli
