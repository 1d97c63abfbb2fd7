#include "renderer/io/paths/camera_json.h"

#include <algorithm>
#include <cmath>

#include "base/json_text.h"
#include "renderer/scene/camera_names.h"

namespace gs {
namespace {

using CameraJson = nlohmann::ordered_json;
constexpr std::uint64_t kMostCameraSide = 1 << 16;

void add_pose(CameraJson& json, const Mat3d& turn, Vec3d move) {
    CameraJson& rotation = json["rotation"] = CameraJson::array();
    for (const auto& row : turn.m)
        for (const double value : row) rotation.push_back(value);
    json["translation"] = {move.x, move.y, move.z};
}

bool read_number(const nlohmann::json& json, double& out) {
    if (!json.is_number()) return false;
    out = json.get<double>();
    return std::isfinite(out);
}

bool read_pose(const nlohmann::json& json, Mat3d& turn, Vec3d& move) {
    const nlohmann::json &rotation = member(json, "rotation"),
                         &translation = member(json, "translation");
    if (rotation.size() != 9 || translation.size() != 3) return false;
    bool good = true;
    for (std::size_t i = 0; i < 9; ++i)
        good &= read_number(element(rotation, i), turn.m[i / 3][i % 3]);
    double* const parts[3] = {&move.x, &move.y, &move.z};
    for (std::size_t i = 0; i < 3; ++i) good &= read_number(element(translation, i), *parts[i]);
    return good;
}

bool read_distortion(const nlohmann::json& json, Camera& out) {
    if (json.is_null()) return true;
    if (!json.is_array() || json.size() > out.distortion.size()) return false;
    for (std::size_t i = 0; i < json.size(); ++i)
        if (!read_number(json[i], out.distortion[i])) return false;
    return true;
}

bool read_shutter(const nlohmann::json& json, Camera& out) {
    const nlohmann::json& name = member(json, "shutter");
    if (name.is_null()) return true;
    const auto shutter =
        name.is_string() ? shutter_named(name.get<std::string>()) : std::optional<Shutter>();
    if (!shutter) return false;
    out.shutter = *shutter;
    const auto pose = [&](const char* key, Pose& to) {
        return read_pose(member(json, key), to.rotation, to.translation);
    };
    return !out.rolling() || (pose("first", out.first) && pose("last", out.last));
}

}  // namespace

nlohmann::ordered_json camera_json(const Camera& c) {
    CameraJson out{{"model", text_of(c.model)},
                   {"width", c.width},
                   {"height", c.height},
                   {"fx", c.fx},
                   {"fy", c.fy},
                   {"cx", c.cx},
                   {"cy", c.cy}};
    add_pose(out, c.rotation, c.translation);
    if (std::any_of(c.distortion.begin(), c.distortion.end(), [](double k) { return k != 0; }))
        out["distortion"] = c.distortion;
    if (!c.rolling()) return out;
    out["shutter"] = text_of(c.shutter);
    add_pose(out["first"], c.first.rotation, c.first.translation);
    add_pose(out["last"], c.last.rotation, c.last.translation);
    return out;
}

std::optional<Camera> camera_from_json(const nlohmann::json& json) {
    Camera out;
    const nlohmann::json& name = member(json, "model");
    if (name.is_string()) {
        const auto model = camera_model_named(name.get<std::string>());
        if (!model) return {};
        out.model = *model;
    }
    const auto side = [&](const char* key) {
        return static_cast<int>(whole_number(member(json, key), kMostCameraSide).value_or(0));
    };
    out.width = side("width");
    out.height = side("height");
    const bool good =
        read_number(member(json, "fx"), out.fx) && read_number(member(json, "fy"), out.fy) &&
        read_number(member(json, "cx"), out.cx) && read_number(member(json, "cy"), out.cy) &&
        read_pose(json, out.rotation, out.translation) &&
        read_distortion(member(json, "distortion"), out) && read_shutter(json, out);
    return good && out.valid() ? std::optional(out) : std::nullopt;
}

}  // namespace gs
