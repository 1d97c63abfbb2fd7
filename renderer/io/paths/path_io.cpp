#include "renderer/io/paths/path_io.h"

#include <numbers>

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/paths/nerfstudio.h"

namespace gs {
namespace {

using PathJson = nlohmann::ordered_json;

constexpr const char* kPathFormat = "gausscope camera path";
constexpr double kPathDegree = std::numbers::pi / 180;
constexpr std::uint64_t kLargestPathFile = 256 << 20;

std::optional<std::vector<double>> numbers(const nlohmann::json& list, std::size_t count) {
    if (!list.is_array() || list.size() != count) return {};
    std::vector<double> out;
    for (const auto& value : list) {
        if (!value.is_number()) return {};
        out.push_back(value.get<double>());
    }
    return out;
}

double number_or(const nlohmann::json& json, double usual) {
    return json.is_number() ? json.get<double>() : usual;
}

Result<PathKey> read_key(const nlohmann::json& json, const std::string& file, std::size_t index) {
    const auto wrong = [&](const char* what) {
        return fail(ErrorKind::malformed, file, fmt::format("key {}: {}", index, what),
                    "docs/film.md has the format");
    };
    const auto position = numbers(member(json, "position"), 3),
               quat = numbers(member(json, "rotation"), 4);
    if (!position) return wrong("\"position\" must be three numbers");
    if (!quat) return wrong("\"rotation\" must be four numbers (w x y z)");
    const nlohmann::json &fov = member(json, "fov_y"), &time = member(json, "time");
    if (!fov.is_number() || !time.is_number())
        return wrong("\"fov_y\" (degrees) and \"time\" (seconds) must be numbers");
    const std::vector<double>&p = *position, &q = *quat;
    const double norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!(norm > 1e-12 && norm < 1e12)) return wrong("\"rotation\" is not a rotation");
    return PathKey{{{p[0], p[1], p[2]},
                    transpose(rotation_from_quat(Quatd{q[0], q[1], q[2], q[3]})),
                    fov.get<double>() * kPathDegree},
                   time.get<double>()};
}

Result<PathFile> read_own(const nlohmann::json& json, const std::string& file) {
    if (member(json, "version") != 1)
        return fail(ErrorKind::unsupported, file, "is a camera path of another version",
                    "this gausscope reads version 1");
    PathFile out;
    CameraPath& path = out.film.path;
    const nlohmann::json& keys = member(json, "keys");
    if (!keys.is_array() || keys.size() > kMostPathKeys)
        return fail(ErrorKind::malformed, file,
                    fmt::format("\"keys\" must be a list of at most {}", kMostPathKeys));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        GS_TRY(path.keys.emplace_back(), read_key(keys[i], file, i));
    }
    path.closed = member(json, "closed") == true;
    path.closing = number_or(member(json, "closing"), 1);
    path.ease = member(json, "ease") == true;
    path.speed = member(json, "speed") == "keys" ? PathSpeed::keys : PathSpeed::even;
    GS_TRY_VOID(read_film_size(json, {"width", "height"}, file, out.film));
    if (const nlohmann::json& lens = member(json, "lens"); !lens.is_null()) {
        const auto named =
            lens.is_string() ? viewer_lens_named(lens.get<std::string>()) : std::nullopt;
        if (!named || named->orthographic())
            return fail(ErrorKind::malformed, file,
                        "\"lens\" must be pinhole, fisheye:DEGREES or equirectangular");
        out.film.lens = *named;
    }
    return out;
}

PathJson list_of(Vec3d v) { return PathJson::array({v.x, v.y, v.z}); }

}  // namespace

Result<void> read_film_size(const nlohmann::json& json, std::array<const char*, 2> sides,
                            const std::string& file, Film& film) {
    int* const values[2] = {&film.width, &film.height};
    for (std::size_t i = 0; i < 2; ++i) {
        const nlohmann::json& side = member(json, sides[i]);
        if (side.is_null()) continue;
        const double value = number_or(side, 0);
        if (!(value >= 1 && value <= kMostFilmSide))
            return fail(ErrorKind::malformed, file,
                        fmt::format("\"{}\" must be from 1 to {}", sides[i], kMostFilmSide));
        *values[i] = static_cast<int>(value);
    }
    film.fps = number_or(member(json, "fps"), film.fps);
    if (!(film.fps >= 0.01 && film.fps <= 1000))
        return fail(ErrorKind::malformed, file, "\"fps\" must be from 0.01 to 1000");
    return {};
}

Film moved_film(Film film, Vec3d by) {
    for (PathKey& key : film.path.keys) key.pose.position += by;
    return film;
}

Result<PathFile> read_path_file(const fs::path& file, Vec3d origin) {
    GS_TRY(const auto bytes, read_file(file, kLargestPathFile));
    GS_TRY(const auto json, parse_json_object(bytes, file.string()));
    const bool own = member(json, "format") == kPathFormat;
    if (!own && !is_nerfstudio_path(json))
        return fail(ErrorKind::malformed, file.string(), "is JSON, but not a camera path",
                    "supported: gausscope's own and nerfstudio's camera_path.json");
    GS_TRY(PathFile out,
           own ? read_own(json, file.string()) : read_nerfstudio(json, file.string()));
    out.film = moved_film(std::move(out.film), -origin);
    for (PathPose& pose : out.frames) pose.position += -origin;
    CameraPath& path = out.film.path;
    if (path.keys.empty()) return fail(ErrorKind::malformed, file.string(), "it has no keys");
    if (path.keys.size() < 2) path.closed = false;
    if (!valid(path))
        return fail(ErrorKind::malformed, file.string(),
                    "its keys are not a path (finite numbers, fields of view between 0 and 180 "
                    "degrees, times that increase by at least a microsecond, at most a day)");
    return out;
}

Result<void> write_path_file(const fs::path& file, const Film& local, Vec3d origin) {
    const Film film = moved_film(local, origin);
    PathJson json{{"format", kPathFormat},
                  {"version", 1},
                  {"width", film.width},
                  {"height", film.height},
                  {"fps", film.fps},
                  {"closed", film.path.closed},
                  {"closing", film.path.closing},
                  {"ease", film.path.ease},
                  {"speed", kPathSpeedNames[static_cast<std::size_t>(film.path.speed)]}};
    if (film.lens.wide()) json["lens"] = text_of(film.lens);
    PathJson keys = PathJson::array();
    for (const PathKey& key : film.path.keys) {
        const Quatd q = quat_from_rotation(transpose(key.pose.rotation));
        keys.push_back({{"time", key.time},
                        {"position", list_of(key.pose.position)},
                        {"rotation", PathJson::array({q.w, q.x, q.y, q.z})},
                        {"fov_y", key.pose.fov_y / kPathDegree}});
    }
    json["keys"] = std::move(keys);
    return write_text_file(file, json_text(json, 1) + "\n");
}

}  // namespace gs
