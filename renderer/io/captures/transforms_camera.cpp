#include "renderer/io/captures/transforms_camera.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "renderer/io/files/capture_json.h"
#include "renderer/scene/camera_names.h"

namespace gs {
namespace {

using Json = nlohmann::json;

// Values of a frame win over those of the whole file.
struct CameraScope {
    const Json* frame;
    const Json* file;

    const Json* find(const char* key) const {
        for (const Json* json : {frame, file})
            if (const auto it = json->find(key); it != json->end() && !it->is_null()) return &*it;
        return nullptr;
    }
    /// What is there and no number is named in `wrong`: a null or a text is no 0.
    std::optional<double> number(const char* key) const {
        for (const Json* json : {frame, file}) {
            const auto it = json->find(key);
            if (it == json->end()) continue;
            std::string problem = why_no_number(*it, key);
            if (problem.empty()) return it->get<double>();
            if (wrong.empty()) wrong = std::move(problem);
            return std::nan("");
        }
        return {};
    }
    mutable std::string wrong{};
    std::string text(const char* key) const {
        const Json* value = find(key);
        return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
    }
};

// The problem in words, empty when there is none: this is how the functions below reject a frame.
using Problem = std::string;

// A model by its name in the file, and the keys of its distortion in Camera's order.
struct LensKeys {
    const char* name;
    CameraModel model;
    std::array<const char*, 12> keys{};
};
constexpr LensKeys kLensKeys[] = {
    {"PINHOLE", CameraModel::pinhole},
    {"SIMPLE_PINHOLE", CameraModel::pinhole},
    {"PERSPECTIVE", CameraModel::pinhole},
    {"OPENCV", CameraModel::opencv, {"k1", "k2", "p1", "p2"}},
    {"SIMPLE_RADIAL", CameraModel::opencv, {"k1", "k2", "p1", "p2"}},
    {"RADIAL", CameraModel::opencv, {"k1", "k2", "p1", "p2"}},
    {"FULL_OPENCV",
     CameraModel::full_opencv,
     {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6", "s1", "s2", "s3", "s4"}},
    {"OPENCV_FISHEYE", CameraModel::opencv_fisheye, {"k1", "k2", "k3", "k4"}},
    {"FISHEYE", CameraModel::opencv_fisheye, {"k1", "k2", "k3", "k4"}},
    {"THIN_PRISM_FISHEYE",
     CameraModel::thin_prism_fisheye,
     {"k1", "k2", "p1", "p2", "k3", "k4", "sx1", "sy1"}},
    {"EQUIRECTANGULAR", CameraModel::equirectangular}};

Problem read_lens(const CameraScope& scope, Camera& camera) {
    std::string model = scope.text("camera_model");
    const auto k = [&](const char* key) { return scope.number(key).value_or(0); };
    if (const Json* fisheye = scope.find("is_fisheye");
        fisheye != nullptr && fisheye->is_boolean() && fisheye->get<bool>())
        model = "OPENCV_FISHEYE";
    if (model.empty())
        model = k("k1") != 0 || k("k2") != 0 || k("k3") != 0 || k("p1") != 0 || k("p2") != 0
                    ? "OPENCV"
                    : "PINHOLE";
    const auto* lens = std::find_if(std::begin(kLensKeys), std::end(kLensKeys),
                                    [&](const LensKeys& keys) { return model == keys.name; });
    if (lens == std::end(kLensKeys))
        return fmt::format("camera model {} is not supported; undistort the photos first", model);
    if (lens->model == CameraModel::opencv && (k("k3") != 0 || k("k4") != 0)) {
        // OpenCV divides by 1 + k4 r^2, nerfstudio multiplies r^8 by it.
        if (k("k4") != 0)
            return fmt::format("k4 of camera model {} means two things: FULL_OPENCV has OpenCV's",
                               model);
        lens = std::find_if(std::begin(kLensKeys), std::end(kLensKeys), [](const LensKeys& keys) {
            return keys.model == CameraModel::full_opencv;
        });
    }
    camera.model = lens->model;
    for (std::size_t i = 0; i < lens->keys.size() && lens->keys[i] != nullptr; ++i)
        camera.distortion[i] = k(lens->keys[i]);
    return {};
}

// A side in pixels, 0 when not given; -1 when not usable.
int side(std::optional<double> value) {
    if (!value) return 0;
    return *value >= 1 && *value <= 1000000 ? static_cast<int>(std::lround(*value)) : -1;
}

Problem read_intrinsics(const CameraScope& scope, Frame& frame) {
    Camera& camera = frame.camera;
    if (Problem problem = read_lens(scope, camera); !problem.empty()) return problem;
    camera.width = side(scope.number("w"));
    camera.height = side(scope.number("h"));
    if (camera.width < 0 || camera.height < 0) return "w or h is not a valid picture size";
    const bool sized = camera.width > 0 && camera.height > 0;
    if (!sized) camera.width = camera.height = 0;
    if (camera.model == CameraModel::equirectangular) {
        if (sized) camera = sphere_camera(camera);
        return {};
    }
    const auto fx = scope.number("fl_x"), fy = scope.number("fl_y");
    const auto angle_x = scope.number("camera_angle_x"), angle_y = scope.number("camera_angle_y");
    if (fx || fy) {
        camera.fx = fx ? *fx : *fy;
        camera.fy = fy ? *fy : *fx;
    } else if (!angle_x && !angle_y) {
        return "neither fl_x nor camera_angle_x is given";
    } else if (sized) {
        if (angle_x) camera.fx = 0.5 * camera.width / std::tan(0.5 * *angle_x);
        camera.fy = angle_y ? 0.5 * camera.height / std::tan(0.5 * *angle_y) : camera.fx;
        if (!angle_x) camera.fx = camera.fy;
    } else {
        frame.angle_x = angle_x;
        frame.angle_y = angle_y;
    }
    const auto cx = scope.number("cx"), cy = scope.number("cy");
    frame.centred = !cx && !cy;
    camera.cx = cx.value_or(0.5 * camera.width);
    camera.cy = cy.value_or(0.5 * camera.height);
    if (!sized && (cx.has_value() != cy.has_value())) return "cx and cy must be given together";
    return {};
}

// Rows of a 4 x 4 matrix, of which the last is not looked at.
struct PoseMatrix {
    double m[3][4];
};

Problem read_matrix(const Json& frame, const char* key, PoseMatrix& out) {
    const auto it = frame.find(key);
    if (it == frame.end() || !it->is_array() || it->size() < 3 || it->size() > 4)
        return fmt::format("{} is missing or not 4 x 4", key);
    for (std::size_t i = 0; i < 3; ++i) {
        const Json& row = (*it)[i];
        if (!row.is_array() || row.size() != 4) return fmt::format("{} is not 4 x 4", key);
        for (std::size_t j = 0; j < 4; ++j) {
            if (!row[j].is_number() || !std::isfinite(row[j].get<double>()))
                return fmt::format("{} holds something that is not a finite number", key);
            out.m[i][j] = row[j].get<double>();
        }
    }
    return {};
}

// Gram-Schmidt on the columns: files hold six digits or a scaled rotation; both are fixed,
// anything else is refused. `scale`: of the file's rotation.
Problem fix_rotation(const PoseMatrix& in, const char* key, Mat3d& out, double& scale) {
    const auto& m = in.m;
    Vec3d x{m[0][0], m[1][0], m[2][0]}, y{m[0][1], m[1][1], m[2][1]}, z{m[0][2], m[1][2], m[2][2]};
    scale = std::sqrt(dot(x, x));
    const double ly = std::sqrt(dot(y, y)), lz = std::sqrt(dot(z, z));
    const std::string no_rotation = fmt::format("{} is not a rotation", key);
    if (!(scale > 1e-9) || std::abs(ly / scale - 1) > 0.02 || std::abs(lz / scale - 1) > 0.02)
        return no_rotation;
    x = (1 / scale) * x;
    y = (1 / ly) * y;
    if (std::abs(dot(x, y)) > 0.02 || dot(cross(x, y), z) < 0.98 * lz) return no_rotation;
    y = y - dot(x, y) * x;
    y = (1 / std::sqrt(dot(y, y))) * y;
    z = cross(x, y);
    out = {{{x.x, y.x, z.x}, {x.y, y.y, z.y}, {x.z, y.z, z.z}}};
    return {};
}

// transform_matrix is world-from-camera with OpenGL axes (y up, z backwards); ours is
// camera-from-world with OpenCV's.
Problem read_pose(const Json& frame, Camera& camera) {
    PoseMatrix matrix{};
    Mat3d r;
    double scale = 1;
    if (Problem problem = read_matrix(frame, "transform_matrix", matrix); !problem.empty())
        return problem;
    if (Problem problem = fix_rotation(matrix, "transform_matrix", r, scale); !problem.empty())
        return problem;
    for (std::size_t i = 0; i < 3; ++i) {
        camera.rotation.m[0][i] = r.m[i][0];
        camera.rotation.m[1][i] = -r.m[i][1];
        camera.rotation.m[2][i] = -r.m[i][2];
    }
    const auto& m = matrix.m;
    camera.translation = -(camera.rotation * Vec3d{m[0][3], m[1][3], m[2][3]});
    return {};
}

// viewmat_*: camera-from-world as ours is. pose_*_tq: the same as t x y z, q w x y z.
Problem read_shutter_pose(const Json& frame, const std::string& end, Pose& out) {
    const std::string matrix_key = "viewmat_" + end, list_key = "pose_" + end + "_tq";
    if (frame.contains(matrix_key)) {
        PoseMatrix matrix{};
        double scale = 1;
        if (Problem problem = read_matrix(frame, matrix_key.c_str(), matrix); !problem.empty())
            return problem;
        if (Problem problem = fix_rotation(matrix, matrix_key.c_str(), out.rotation, scale);
            !problem.empty())
            return problem;
        const auto& m = matrix.m;
        out.translation = (1 / scale) * Vec3d{m[0][3], m[1][3], m[2][3]};
        return {};
    }
    const auto it = frame.find(list_key);
    if (it == frame.end()) return fmt::format("{} is missing", matrix_key);
    std::array<double, 7> v{};
    if (!it->is_array() || it->size() != v.size()) return list_key + " is not seven numbers";
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = (*it)[i].is_number() ? (*it)[i].get<double>() : std::nan("");
        if (!std::isfinite(v[i])) return list_key + " holds something that is not a finite number";
    }
    const double norm = v[3] * v[3] + v[4] * v[4] + v[5] * v[5] + v[6] * v[6];
    if (!(norm > 1e-12 && norm < 1e12)) return list_key + " is not a rotation";
    out = {rotation_from_quat(Quatd{v[3], v[4], v[5], v[6]}), {v[0], v[1], v[2]}};
    return {};
}

// "TOP_TO_BOTTOM" and so on, as gsplat writes them.
std::optional<Shutter> shutter_from(std::string name) {
    name = lower_case(name);
    std::replace(name.begin(), name.end(), '_', '-');
    return name.empty() ? std::optional(Shutter::global) : shutter_named(name);
}

// With a rolling shutter the one pose is that of half the read-out, whatever transform_matrix says.
Problem read_shutter(const CameraScope& scope, Frame& out) {
    const std::string name = scope.text("rolling_shutter");
    const auto shutter = shutter_from(name);
    if (!shutter) return fmt::format("rolling_shutter \"{}\" is not a direction", name);
    if (*shutter == Shutter::global) return {};
    const auto has = [&](const char* key) { return scope.frame->contains(key); };
    if (!has("viewmat_start") && !has("viewmat_end") && !has("pose_start_tq") &&
        !has("pose_end_tq")) {
        out.shutter_without_poses = true;
        return {};
    }
    Camera& camera = out.camera;
    for (const auto& [end, pose] :
         {std::pair{"start", &camera.first}, std::pair{"end", &camera.last}})
        if (Problem problem = read_shutter_pose(*scope.frame, end, *pose); !problem.empty())
            return problem;
    const auto turn = transpose(camera.first.rotation) * camera.last.rotation;
    if (!(turn.m[0][0] + turn.m[1][1] + turn.m[2][2] > 1))  // 1 + 2 cos of the angle
        return "its first and last row differ by more than 90 degrees: not one photo";
    camera.shutter = *shutter;
    const Pose middle = camera.pose_at(0.5);
    camera.rotation = middle.rotation;
    camera.translation = middle.translation;
    return {};
}

}  // namespace

std::string read_frame_camera(const Json& frame, const Json& file, Frame& out) {
    const CameraScope scope{&frame, &file};
    Problem problem = read_intrinsics(scope, out);
    if (!scope.wrong.empty()) problem = scope.wrong;
    if (problem.empty()) problem = read_shutter(scope, out);
    // The shutter's poses also say where the camera was.
    if (problem.empty() && !out.camera.rolling()) problem = read_pose(frame, out.camera);
    return problem;
}

namespace {

using OutJson = nlohmann::ordered_json;

/// world_from_camera, with OpenGL's axes: y up, z backwards.
OutJson matrix_of(const Camera& camera) {
    const auto& r = camera.rotation.m;
    const Vec3d eye = camera.position();
    const double e[3] = {eye.x, eye.y, eye.z};
    OutJson out = OutJson::array();
    for (int i = 0; i < 3; ++i) out.push_back({r[0][i], -r[1][i], -r[2][i], e[i]});
    out.push_back({0, 0, 0, 1});
    return out;
}

void add_lens(OutJson& frame, const Camera& camera) {
    // Models of one or two radial numbers are OpenCV's without the others.
    const bool radial =
        camera.model == CameraModel::radial || camera.model == CameraModel::simple_radial;
    const CameraModel model = radial ? CameraModel::opencv : camera.model;
    const auto* lens = std::find_if(std::begin(kLensKeys), std::end(kLensKeys),
                                    [&](const LensKeys& keys) { return keys.model == model; });
    if (model != CameraModel::pinhole && lens != std::end(kLensKeys)) {
        frame["camera_model"] = lens->name;
        for (std::size_t i = 0; i < lens->keys.size() && lens->keys[i] != nullptr; ++i)
            frame[lens->keys[i]] = camera.distortion[i];
    }
}

void add_shutter(OutJson& frame, const Camera& camera) {
    std::string name = text_of(camera.shutter);
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(c >= 'a' ? c - 'a' + 'A' : c);
    frame["rolling_shutter"] = name;
    for (const auto& [key, pose] :
         {std::pair{"viewmat_start", &camera.first}, std::pair{"viewmat_end", &camera.last}}) {
        auto& rows = frame[key] = nlohmann::ordered_json::array();
        const double t[3] = {pose->translation.x, pose->translation.y, pose->translation.z};
        for (std::size_t i = 0; i < 3; ++i) {
            const auto& r = pose->rotation.m[i];
            rows.push_back({r[0], r[1], r[2], t[i]});
        }
        rows.push_back({0, 0, 0, 1});
    }
}

}  // namespace

nlohmann::ordered_json frame_json(const std::string& file_path, const Camera& c) {
    OutJson out{{"file_path", file_path},
                {"w", c.width},
                {"h", c.height},
                {"fl_x", c.fx},
                {"fl_y", c.fy},
                {"cx", c.cx},
                {"cy", c.cy},
                {"transform_matrix", matrix_of(c)}};
    add_lens(out, c);
    if (c.rolling()) add_shutter(out, c);
    return out;
}

}  // namespace gs
