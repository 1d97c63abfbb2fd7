// transforms.json of instant-ngp and nerfstudio, and transforms_train/val/test.json of
// NeRF-synthetic (Blender).
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/try.h"
#include "renderer/io/captures/capture_source.h"
#include "renderer/io/captures/ply_points.h"

namespace gs {
namespace {

using Json = nlohmann::json;

// Python writes NaN and Infinity, which JSON does not have. They become empty strings padded to the
// same length, so that places in error messages stay right; a number that is a string makes its
// frame unusable, not the file.
void replace_not_finite(std::string& text) {
    bool inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (inside && text[i] == '\\') {
            ++i;
            continue;
        }
        if (text[i] == '"') inside = !inside;
        if (inside || (text[i] != 'N' && text[i] != 'I' && text[i] != '-')) continue;
        for (const std::string_view word :
             {std::string_view("-Infinity"), std::string_view("Infinity"), std::string_view("NaN")})
            if (text.compare(i, word.size(), word) == 0) {
                text.replace(i, word.size(), "\"\"" + std::string(word.size() - 2, ' '));
                i += word.size() - 1;
                break;
            }
    }
}

Result<Json> parse_file(const fs::path& path) {
    GS_TRY(auto text, read_text_file(path, 1ull << 30));
    replace_not_finite(text);
    try {
        Json json = Json::parse(text);
        if (!json.is_object()) return fail_at_byte(path.string(), 0, "is JSON, but not an object");
        return json;
    } catch (const Json::parse_error& error) {
        return fail_at_byte(path.string(), error.byte, "is not valid JSON",
                            "the file is cut or damaged");
    } catch (const Json::exception& error) {
        return fail(ErrorKind::malformed, path.string(),
                    fmt::format("is not valid JSON: {}", error.what()), "the file is damaged");
    }
}

// Values of a frame win over those of the whole file.
struct Scope {
    const Json* frame;
    const Json* file;

    const Json* find(const char* key) const {
        for (const Json* json : {frame, file})
            if (const auto it = json->find(key); it != json->end() && !it->is_null()) return &*it;
        return nullptr;
    }
    std::optional<double> number(const char* key) const {
        const Json* value = find(key);
        if (value == nullptr) return {};
        return value->is_number() ? value->get<double>() : std::nan("");
    }
    std::string text(const char* key) const {
        const Json* value = find(key);
        return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
    }
};

std::string text_of(const Json& json, const char* key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// The problem in words, empty when there is none: this is how the functions below reject a frame.
using Problem = std::string;

Problem read_lens(const Scope& scope, Camera& camera) {
    std::string model = scope.text("camera_model");
    const auto k = [&](const char* key) { return scope.number(key).value_or(0); };
    if (const Json* fisheye = scope.find("is_fisheye");
        fisheye != nullptr && fisheye->is_boolean() && fisheye->get<bool>())
        model = "OPENCV_FISHEYE";
    if (model.empty())
        model = k("k1") != 0 || k("k2") != 0 || k("k3") != 0 || k("p1") != 0 || k("p2") != 0
                    ? "OPENCV"
                    : "PINHOLE";
    if (model == "OPENCV_FISHEYE" || model == "FISHEYE") {
        camera.model = CameraModel::opencv_fisheye;
        camera.distortion = {k("k1"), k("k2"), k("k3"), k("k4")};
    } else if (model == "OPENCV" || model == "SIMPLE_RADIAL" || model == "RADIAL") {
        if (k("k3") != 0 || k("k4") != 0)
            return fmt::format(
                "camera model {} with k3 or k4 is not supported; undistort the photos first",
                model);
        camera.model = CameraModel::opencv;
        camera.distortion = {k("k1"), k("k2"), k("p1"), k("p2")};
    } else if (model == "PINHOLE" || model == "SIMPLE_PINHOLE" || model == "PERSPECTIVE") {
        camera.model = CameraModel::pinhole;
    } else {
        return fmt::format("camera model {} is not supported; undistort the photos first", model);
    }
    return {};
}

// A side in pixels, 0 when not given; -1 when not usable.
int side(std::optional<double> value) {
    if (!value) return 0;
    return *value >= 1 && *value <= 1000000 ? static_cast<int>(std::lround(*value)) : -1;
}

Problem read_intrinsics(const Scope& scope, Frame& frame) {
    Camera& camera = frame.camera;
    if (Problem problem = read_lens(scope, camera); !problem.empty()) return problem;
    camera.width = side(scope.number("w"));
    camera.height = side(scope.number("h"));
    if (camera.width < 0 || camera.height < 0) return "w or h is not a possible picture size";
    const bool sized = camera.width > 0 && camera.height > 0;
    if (!sized) camera.width = camera.height = 0;
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
    if (!sized && (cx.has_value() != cy.has_value())) return "cx and cy must come together";
    return {};
}

// transform_matrix is world-from-camera with OpenGL axes (y up, z backwards); ours is
// camera-from-world with OpenCV's.
Problem read_pose(const Json& frame, Camera& camera) {
    const auto it = frame.find("transform_matrix");
    if (it == frame.end() || !it->is_array() || it->size() < 3 || it->size() > 4)
        return "transform_matrix is missing or not 4 x 4";
    double m[3][4];
    for (std::size_t i = 0; i < 3; ++i) {
        const Json& row = (*it)[i];
        if (!row.is_array() || row.size() != 4) return "transform_matrix is not 4 x 4";
        for (std::size_t j = 0; j < 4; ++j) {
            if (!row[j].is_number() || !std::isfinite(row[j].get<double>()))
                return "transform_matrix holds something that is not a finite number";
            m[i][j] = row[j].get<double>();
        }
    }
    // Gram-Schmidt: files hold six digits or a scaled rotation; both are mended, anything else is
    // refused.
    Vec3d x{m[0][0], m[1][0], m[2][0]}, y{m[0][1], m[1][1], m[2][1]}, z{m[0][2], m[1][2], m[2][2]};
    const double length = std::sqrt(dot(x, x)), ly = std::sqrt(dot(y, y)),
                 lz = std::sqrt(dot(z, z));
    if (!(length > 1e-9) || std::abs(ly / length - 1) > 0.02 || std::abs(lz / length - 1) > 0.02)
        return "transform_matrix is not a rotation";
    x = (1 / length) * x;
    y = (1 / ly) * y;
    if (std::abs(dot(x, y)) > 0.02 || dot(cross(x, y), z) < 0.98 * lz)
        return "transform_matrix is not a rotation";
    y = y - dot(x, y) * x;
    y = (1 / std::sqrt(dot(y, y))) * y;
    z = cross(x, y);
    camera.rotation = {{{x.x, x.y, x.z}, {-y.x, -y.y, -y.z}, {-z.x, -z.y, -z.z}}};
    camera.translation = -(camera.rotation * Vec3d{m[0][3], m[1][3], m[2][3]});
    return {};
}

fs::path find_photo(const fs::path& folder, std::string& file) {
    std::error_code ignored;
    std::replace(file.begin(), file.end(), '\\', '/');
    const fs::path path = folder / file;
    if (fs::is_regular_file(path, ignored)) return path;
    for (const char* extension : {".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG"})
        if (fs::is_regular_file(path.string() + extension, ignored)) {
            file += extension;
            return path.string() + extension;
        }
    return path;
}

void read_frame(const Json& file, const Json& json, const fs::path& folder, bool test,
                std::size_t index, CaptureSource& source) {
    if (!json.is_object()) {
        source.skipped.push_back(fmt::format("frame {}: is not an object", index));
        return;
    }
    Frame frame;
    frame.test = test;
    std::string name = text_of(json, "file_path");
    Problem problem;
    if (name.empty())
        problem = "file_path is missing";
    else
        frame.photo = find_photo(folder, name);
    frame.name = fs::path(name).lexically_normal().generic_string();
    if (problem.empty()) problem = read_intrinsics({&json, &file}, frame);
    if (problem.empty()) problem = read_pose(json, frame.camera);
    if (const std::string mask = text_of(json, "mask_path"); !mask.empty())
        frame.mask = folder / mask;
    if (problem.empty())
        source.frames.push_back(std::move(frame));
    else
        source.skipped.push_back(fmt::format(
            "{}: {}", name.empty() ? fmt::format("frame {}", index) : frame.name, problem));
}

Result<void> read_frames(const Json& file, const fs::path& path, bool test, CaptureSource& source) {
    const auto frames = file.find("frames");
    if (frames == file.end() || !frames->is_array())
        return fail(ErrorKind::malformed, path.string(), "has no list \"frames\"",
                    "is it a transforms.json?");
    for (std::size_t i = 0; i < frames->size(); ++i)
        read_frame(file, (*frames)[i], path.parent_path(), test, i, source);
    return {};
}

// Names relative to the folder all photos share ("images/0001.jpg" -> "0001.jpg"); repeated ones
// are dropped.
void settle_names(CaptureSource& source) {
    std::string common;
    for (std::size_t i = 0; i < source.frames.size(); ++i) {
        const std::string folder =
            fs::path(source.frames[i].name).parent_path().generic_string() + "/";
        common = i == 0 || common == folder ? folder : "/";
    }
    source.photo_folder = source.root;
    if (common.size() > 1) {
        source.photo_folder /= common.substr(0, common.size() - 1);
        for (Frame& frame : source.frames) frame.name = frame.name.substr(common.size());
    }
    std::set<std::string> names;
    std::erase_if(source.frames, [&](const Frame& frame) {
        if (names.insert(frame.name).second) return false;
        source.skipped.push_back(fmt::format("{}: it is listed twice", frame.name));
        return true;
    });
}

Result<void> read_points(const Json& file, CaptureSource& source) {
    std::error_code ignored;
    const std::string named = text_of(file, "ply_file_path");
    if (!named.empty() && !fs::is_regular_file(source.root / named, ignored))
        source.notes.push_back(fmt::format("ply_file_path {} is missing", named));
    for (const std::string& candidate :
         {named, std::string("points3d.ply"), std::string("points3D.ply"),
          std::string("sparse_pc.ply")}) {
        if (candidate.empty() || !fs::is_regular_file(source.root / candidate, ignored)) continue;
        GS_TRY(auto points, read_ply_points(source.root / candidate, source.notes));
        source.points = std::move(points);
        return {};
    }
    return {};
}

}  // namespace

fs::path find_transforms(const fs::path& path) {
    std::error_code ignored;
    if (path.extension() == ".json" && fs::is_regular_file(path, ignored)) return path;
    for (const char* name : {"transforms.json", "transforms_train.json"})
        if (fs::is_regular_file(path / name, ignored)) return path / name;
    return {};
}

Result<CaptureSource> read_transforms(const fs::path& path) {
    GS_TRY(const auto json, parse_file(path));
    CaptureSource source;
    source.format = path.filename().string();
    source.root = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    GS_TRY_VOID(read_frames(json, path, false, source));
    if (json.contains("applied_transform"))
        source.notes.emplace_back(
            "applied_transform is left as it is: poses and points stay in the file's own world");

    std::error_code ignored;
    const fs::path test = source.root / "transforms_test.json";
    if (path.filename() == "transforms_train.json") {
        source.blender = !json.contains("fl_x") && json.contains("camera_angle_x");
        if (fs::is_regular_file(test, ignored)) {
            GS_TRY(const auto test_json, parse_file(test));
            GS_TRY_VOID(read_frames(test_json, test, true, source));
            source.has_test_file = true;
            source.format += " + transforms_test.json";
        }
        if (fs::is_regular_file(source.root / "transforms_val.json", ignored))
            source.notes.emplace_back("transforms_val.json is not used");
    }
    GS_TRY_VOID(read_points(json, source));
    settle_names(source);
    return source;
}

}  // namespace gs
