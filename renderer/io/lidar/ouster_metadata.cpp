#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/lidar/ouster.h"

namespace gs {
namespace {

using OusterJson = nlohmann::json;

constexpr OusterProfile kProfiles[] = {{"RNG15_RFL8_NIR8", 4, 2, 0x7FFF, 0.008},
                                       {"RNG19_RFL8_SIG16_NIR16", 12, 4, 0x7FFFF, 0.001},
                                       {"RNG19_RFL8_SIG16_NIR16_DUAL", 16, 3, 0x7FFFF, 0.001}};

/// The fields of either form, and the first thing that is wrong with them.
class Fields {
  public:
    Fields(const OusterJson& json, std::string path) : json_(json), path_(std::move(path)) {
        grouped_ = json.contains("beam_intrinsics");
        if (!grouped_) return;
        for (const char* group : {"sensor_info", "lidar_intrinsics", "config_params"})
            if (!json.contains(group) || !json.at(group).is_object())
                wrong(fmt::format(
                    "mixes the old and the new form: it has beam_intrinsics and no {}", group));
    }
    /// In the object itself, or in the group that the newer form keeps it in.
    const OusterJson* find(const char* group, const char* key) const {
        const OusterJson* at = &json_;
        if (grouped_ || std::string_view(group).ends_with("data_format")) {
            auto it = json_.find(group);
            if (it == json_.end()) it = json_.find("data_format");
            if (it == json_.end() || !it->is_object()) return nullptr;
            at = &*it;
        }
        const auto it = at->find(key);
        return it == at->end() || it->is_null() ? nullptr : &*it;
    }
    double number(const char* group, const char* key, double low, double high,
                  std::optional<double> usual = {}) {
        const OusterJson* at = find(group, key);
        if (at == nullptr && usual) return *usual;
        const double value = at != nullptr && at->is_number() ? at->get<double>() : std::nan("");
        if (!(value >= low && value <= high))
            wrong(at == nullptr ? fmt::format("has no {}", key)
                                : fmt::format("{} is {}, not a number from {} to {}", key,
                                              json_text(*at).substr(0, 40), low, high));
        return std::isfinite(value) ? value : low;
    }
    std::vector<double> numbers(const char* group, const char* key) {
        std::vector<double> out;
        const OusterJson* at = find(group, key);
        if (at == nullptr || !at->is_array()) {
            wrong(fmt::format("has no list {}", key));
            return out;
        }
        for (const OusterJson& value : *at) {
            out.push_back(value.is_number() ? value.get<double>() : std::nan(""));
            if (!std::isfinite(out.back()))
                wrong(fmt::format("{} holds a value that is not a number", key));
        }
        return out;
    }
    std::string text(const char* group, const char* key) const {
        const OusterJson* at = find(group, key);
        if (at == nullptr) return {};
        return at->is_string() ? at->get<std::string>() : json_text(*at);
    }
    void wrong(std::string what) {
        if (problem_.empty()) problem_ = std::move(what);
    }
    Result<void> result() const {
        if (problem_.empty()) return {};
        return fail(ErrorKind::malformed, path_, "Ouster metadata: " + problem_,
                    "get the metadata again from the sensor, or from the recording's folder");
    }

  private:
    const OusterJson& json_;
    std::string path_, problem_;
    bool grouped_ = false;
};

Pose metres(Fields& fields, const char* group, const char* key) {
    const std::vector<double> m = fields.numbers(group, key);
    if (m.size() != 16) {
        fields.wrong(fmt::format("{} has {} numbers, not 16", key, m.size()));
        return {};
    }
    const Pose pose{{{{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, {m[8], m[9], m[10]}}},
                    {m[3] / 1000, m[7] / 1000, m[11] / 1000}};
    const Mat3d square = pose.rotation * transpose(pose.rotation);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            if (!(std::abs(square.m[i][j] - (i == j ? 1 : 0)) < 1e-3))
                fields.wrong(fmt::format("{} is not a rotation and translation", key));
    return pose;
}

void read_angles(Fields& fields, OusterSensor& out) {
    out.altitudes = fields.numbers("beam_intrinsics", "beam_altitude_angles");
    out.azimuths = fields.numbers("beam_intrinsics", "beam_azimuth_angles");
    for (const auto* angles : {&out.altitudes, &out.azimuths})
        if (angles->size() != out.beams)
            fields.wrong(fmt::format("{} beam angles for {} beams", angles->size(), out.beams));
    const auto [low, high] = std::minmax_element(out.altitudes.begin(), out.altitudes.end());
    if (out.beams > 1 && low != out.altitudes.end() && *low == *high)
        fields.wrong("all beams have the same altitude angle");
    for (auto* angles : {&out.altitudes, &out.azimuths})
        for (double& angle : *angles) {
            if (!(std::abs(angle) <= 90)) fields.wrong(fmt::format("a beam angle of {}", angle));
            angle *= std::numbers::pi / 180;
        }
}

}  // namespace

bool is_ouster_metadata(const fs::path& path) {
    if (path.extension() != ".json") return false;
    const auto text = read_text_file(path, 4 << 20);
    return text && text->find("beam_altitude_angles") != std::string::npos;
}

Result<OusterSensor> read_ouster_metadata(const fs::path& path) {
    GS_TRY(const std::string text, read_text_file(path, 4 << 20));
    GS_TRY(const OusterJson json, parse_json(text, path.string()));
    if (!json.is_object())
        return fail(ErrorKind::malformed, path.string(), "is not a JSON object",
                    "the metadata of an Ouster sensor is expected");
    Fields fields(json, path.string());
    GS_TRY_VOID(fields.result());
    OusterSensor out;
    const char* format = "lidar_data_format";
    out.beams = static_cast<std::uint32_t>(fields.number(format, "pixels_per_column", 1, 1024));
    out.columns = static_cast<std::uint32_t>(fields.number(format, "columns_per_frame", 1, 65535));
    out.columns_per_packet =
        static_cast<std::uint32_t>(fields.number(format, "columns_per_packet", 1, 64));
    out.product = fields.text("sensor_info", "prod_line");
    out.serial = fields.text("sensor_info", "prod_sn");
    out.init_id = static_cast<std::uint32_t>(
        fields.number("sensor_info", "initialization_id", 0, 0xFFFFFF, 0.0));
    out.lidar_port =
        static_cast<int>(fields.number("config_params", "udp_port_lidar", 0, 65535, 0.0));
    out.beam_origin =
        fields.number("beam_intrinsics", "lidar_origin_to_beam_origin_mm", -1000, 1000) / 1000;
    out.sensor_from_lidar = metres(fields, "lidar_intrinsics", "lidar_to_sensor_transform");
    read_angles(fields, out);
    GS_TRY_VOID(fields.result());
    const std::string profile = fields.text(format, "udp_profile_lidar");
    for (const OusterProfile& known : kProfiles)
        if (profile == known.name) out.profile = &known;
    if (out.profile == nullptr)
        return fail(ErrorKind::unsupported, path.string(),
                    fmt::format("its packets have the unsupported profile \"{}\"", profile),
                    "RNG15_RFL8_NIR8, RNG19_RFL8_SIG16_NIR16 and its DUAL are supported");
    return out;
}

}  // namespace gs
