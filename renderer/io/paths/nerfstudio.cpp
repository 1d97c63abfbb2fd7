#include "renderer/io/paths/nerfstudio.h"

#include <algorithm>
#include <numbers>

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"

namespace gs {
namespace {

using NsJson = nlohmann::json;

constexpr double kNsDegree = std::numbers::pi / 180;
constexpr std::size_t kMostFrames = 200000;

using NsMatrix = std::array<double, 16>;

/// 16 numbers; older viewers wrote them as text.
std::optional<NsMatrix> matrix_of(const NsJson& value) {
    NsJson parsed;
    if (value.is_string()) parsed = json_or_discarded(value.get_ref<const std::string&>());
    const NsJson& list = value.is_string() ? parsed : value;
    if (!list.is_array() || list.size() != 16) return {};
    NsMatrix m{};
    for (std::size_t i = 0; i < 16; ++i) {
        if (!list[i].is_number()) return {};
        m[i] = list[i].get<double>();
    }
    return m;
}

/// How a list's cameras are called, and what is said of one that is none.
struct NsList {
    const char *matrix, *item;
};

/// Whether a list's matrices are columns after another, as three.js has them: the position stands
/// at the end then. All of a list are alike, and any camera that is not at the origin shows it;
/// older viewers wrote keys by columns and pictures by rows into one file.
bool by_columns(const NsJson& list, const NsList& names) {
    for (const NsJson& item : list) {
        const auto m = matrix_of(member(item, names.matrix));
        if (!m) continue;
        const bool right = (*m)[3] != 0 || (*m)[7] != 0 || (*m)[11] != 0,
                   below = (*m)[12] != 0 || (*m)[13] != 0 || (*m)[14] != 0;
        if (right != below) return below;
    }
    return false;
}

Result<PathPose> pose_in(const NsJson& item, const char* name, bool columns,
                         const std::string& file, const std::string& where) {
    auto m = matrix_of(member(item, name));
    const NsJson& fov = member(item, "fov");
    if (!m || !fov.is_number())
        return fail(ErrorKind::malformed, file,
                    fmt::format("{}: \"{}\" must be 16 numbers and \"fov\" one", where, name));
    if (columns)
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t j = 0; j < i; ++j) std::swap((*m)[4 * i + j], (*m)[4 * j + i]);
    PathPose pose{.position = {(*m)[3], (*m)[7], (*m)[11]}};
    for (int row = 0; row < 3; ++row) {
        const auto at = static_cast<std::size_t>(4 * row);
        pose.rotation.m[0][row] = (*m)[at];
        pose.rotation.m[1][row] = -(*m)[at + 1];
        pose.rotation.m[2][row] = -(*m)[at + 2];
    }
    pose.fov_y = fov.get<double>() * kNsDegree;
    if (!valid(CameraPath{{{pose, 0}}}))
        return fail(
            ErrorKind::malformed, file,
            fmt::format(
                "{}: its numbers are not a camera (finite, axes of length 1 at right angles)",
                where));
    return pose;
}

Result<std::vector<PathPose>> poses_in(const NsJson& list, const NsList& names,
                                       const std::string& file) {
    std::vector<PathPose> out;
    if (!list.is_array()) return out;
    const bool columns = by_columns(list, names);
    for (std::size_t i = 0; i < list.size(); ++i) {
        GS_TRY(out.emplace_back(),
               pose_in(list[i], names.matrix, columns, file, fmt::format("{} {}", names.item, i)));
    }
    return out;
}

NsJson rows_of(const PathPose& pose) {
    NsJson out = NsJson::array();
    const Vec3d p = pose.position;
    const double position[3] = {p.x, p.y, p.z};
    for (int row = 0; row < 3; ++row) {
        out.push_back(pose.rotation.m[0][row]);
        out.push_back(-pose.rotation.m[1][row]);
        out.push_back(-pose.rotation.m[2][row]);
        out.push_back(position[row]);
    }
    for (const double v : {0.0, 0.0, 0.0, 1.0}) out.push_back(v);
    return out;
}

/// Seconds before each key, and those from the last back to the first; nothing if the file has
/// none of its own.
std::optional<double> usual_transition(const NsJson& whole) {
    const NsJson& value = member(whole, "default_transition_sec");
    if (!value.is_number() || !(value.get<double>() >= kLeastBetweenKeys)) return {};
    return value.get<double>();
}
double transition_to(const NsJson& key, double usual) {
    const NsJson& own = member(key, "override_transition_sec");
    if (member(key, "override_transition_enabled") != true || !own.is_number()) return usual;
    return own.get<double>() >= kLeastBetweenKeys ? own.get<double>() : usual;
}

void set_times(const NsJson& whole, const NsJson& keyframes, CameraPath& path) {
    const std::size_t n = path.keys.size();
    const NsJson& given = member(whole, "seconds");
    const double parts = static_cast<double>(path.closed ? n : n - 1);
    const double seconds =
        given.is_number() && given.get<double>() > 0 ? given.get<double>() : 2 * parts;
    const double usual = usual_transition(whole).value_or(seconds / std::max(parts, 1.0));
    for (std::size_t i = 1; i < n; ++i)
        path.keys[i].time = path.keys[i - 1].time + transition_to(keyframes[i], usual);
    path.closing = transition_to(keyframes[0], usual);
}

}  // namespace

bool is_nerfstudio_path(const NsJson& whole) {
    return member(whole, "camera_path").is_array() || member(whole, "keyframes").is_array();
}

Result<PathFile> read_nerfstudio(const NsJson& whole, const std::string& file) {
    PathFile out;
    const NsJson& type = member(whole, "camera_type");
    if (type.is_string() && type != "perspective")
        return fail(ErrorKind::unsupported, file,
                    fmt::format("its camera is {}", type.get<std::string>()),
                    "only paths of perspective cameras are supported");
    GS_TRY_VOID(read_film_size(whole, {"render_width", "render_height"}, file, out.film));
    const NsJson &keyframes = member(whole, "keyframes"), &frames = member(whole, "camera_path");
    if (keyframes.size() > kMostPathKeys || frames.size() > kMostFrames)
        return fail(
            ErrorKind::malformed, file,
            fmt::format("it has more than {} keys or {} frames", kMostPathKeys, kMostFrames));
    CameraPath& path = out.film.path;
    path.speed = PathSpeed::keys;
    GS_TRY(out.frames, poses_in(frames, {"camera_to_world", "frame"}, file));
    GS_TRY(const auto keys, poses_in(keyframes, {"matrix", "key"}, file));
    for (const PathPose& pose : keys) path.keys.push_back({pose, 0});
    path.closed = member(whole, "is_cycle") == true && path.keys.size() > 1;
    if (!path.keys.empty()) {
        set_times(whole, keyframes, path);
    } else {
        const std::size_t stride = (out.frames.size() + kMostPathKeys - 1) / kMostPathKeys;
        for (std::size_t i = 0; i < out.frames.size(); i += std::max<std::size_t>(stride, 1))
            path.keys.push_back({out.frames[i], static_cast<double>(i) / out.film.fps});
    }
    if (member(whole, "crop").is_object()) out.notes.push_back("its crop is ignored");
    return out;
}

Result<void> write_nerfstudio_path(const fs::path& file, const Film& local, Vec3d origin) {
    const Film film = moved_film(local, origin);
    const CameraPath& path = film.path;
    if (!valid(path) || path.keys.empty())
        return fail(ErrorKind::usage, file.string(), "there is no path to write");
    const std::size_t pictures = pictures_of(path, film.fps);
    if (pictures > kMostFrames)
        return fail(
            ErrorKind::usage, file.string(),
            fmt::format(
                "{} pictures are too many: nerfstudio's format lists each, and the limit is {}",
                pictures, kMostFrames),
            "use a lower frame rate, a shorter path or gausscope's own format");
    const double aspect = static_cast<double>(film.width) / film.height;
    nlohmann::ordered_json whole{{"camera_type", "perspective"},
                                 {"render_width", film.width},
                                 {"render_height", film.height},
                                 {"fps", film.fps},
                                 {"seconds", path.seconds()},
                                 {"is_cycle", path.closed},
                                 {"smoothness_value", 0},
                                 {"default_fov", path.keys.front().pose.fov_y / kNsDegree},
                                 {"default_transition_sec", path.closing}};
    nlohmann::ordered_json keys = nlohmann::ordered_json::array(), frames = keys;
    for (std::size_t i = 0; i < path.keys.size(); ++i) {
        const PathKey& key = path.keys[i];
        const double before = i > 0 ? key.time - path.keys[i - 1].time : path.closing;
        keys.push_back({{"matrix", rows_of(key.pose)},
                        {"fov", key.pose.fov_y / kNsDegree},
                        {"aspect", aspect},
                        {"override_transition_enabled", true},
                        {"override_transition_sec", before}});
    }
    for (const PathPose& pose : poses_along(path, pictures))
        frames.push_back({{"camera_to_world", rows_of(pose)},
                          {"fov", pose.fov_y / kNsDegree},
                          {"aspect", aspect}});
    whole["keyframes"] = std::move(keys);
    whole["camera_path"] = std::move(frames);
    return write_text_file(file, json_text(whole) + "\n");
}

}  // namespace gs
