// The stored pictures and sweeps along rays (reference/sensors): their Gaussians, cameras and
// poses. Used by the tests of the oracle and of the fast evaluation.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "renderer/reference/parameters.h"
#include "renderer/scene/camera.h"
#include "tests/support/npz.h"

namespace gs::test {

inline constexpr const char *kPictures = "reference/sensors/exact_render.npz",
                            *kSweeps = "reference/sensors/lidar.npz";

inline Vec3d at3(const Array& a, std::size_t i) { return {a[3 * i], a[3 * i + 1], a[3 * i + 2]}; }
inline Pose pose_of_seven(const Array& seven) {
    return {rotation_from_quat({seven[3], seven[4], seven[5], seven[6]}), at3(seven, 0)};
}

/// Gaussians as stored: standard deviations and opacities, not their logarithms.
inline reference::Parameters scene_of(const Arrays& data, const std::string& prefix) {
    const Array &means = data[prefix + "means"], &quats = data[prefix + "quats"],
                &scales = data[prefix + "scales"], &opacities = data[prefix + "opacities"];
    reference::Parameters out(means.dim(0), 0);
    for (std::size_t i = 0; i < out.count; ++i) {
        for (std::size_t k = 0; k < 3; ++k) {
            out.at(kMeans + static_cast<int>(k), i) = means[3 * i + k];
            out.at(kLogScales + static_cast<int>(k), i) = std::log(scales[3 * i + k]);
        }
        for (std::size_t k = 0; k < 4; ++k)
            out.at(kQuats + static_cast<int>(k), i) = quats[4 * i + k];
        out.at(kOpacityLogits, i) = std::log(opacities[i] / (1 - opacities[i]));
    }
    return out;
}

struct Mode {
    const char* lens;
    const char* name;
    Shutter shutter;
};
inline constexpr Mode kModes[] = {{"pinhole", "global", Shutter::global},
                                  {"pinhole", "top_to_bottom", Shutter::top_to_bottom},
                                  {"pinhole", "left_to_right", Shutter::left_to_right},
                                  {"pinhole", "bottom_to_top", Shutter::bottom_to_top},
                                  {"pinhole", "right_to_left", Shutter::right_to_left},
                                  {"kb4", "global", Shutter::global},
                                  {"kb4", "top_to_bottom", Shutter::top_to_bottom}};

inline Camera stored_camera(const Arrays& data, const Mode& mode) {
    const std::string lens = mode.lens;
    Camera c{.width = 48,
             .height = 32,
             .fx = data[lens + "_in_f"][0],
             .fy = data[lens + "_in_f"][1],
             .cx = data[lens + "_in_c"][0],
             .cy = data[lens + "_in_c"][1]};
    if (lens == "kb4") {
        c.model = CameraModel::opencv_fisheye;
        for (std::size_t k = 0; k < 4; ++k) c.distortion[k] = data["kb4_in_radial"][k];
    }
    c.shutter = mode.shutter;
    c.first = pose_of_seven(data["pose_start"]);
    c.last = pose_of_seven(data["pose_end"]);
    const Pose one = c.rolling() ? c.pose_at(0.5) : c.first;
    c.rotation = one.rotation;
    c.translation = one.translation;
    return c;
}

/// Of each Gaussian of a stored scene; `in`: how its keys begin.
inline std::vector<Vec3f> stored_colors(const Arrays& data, const std::string& in,
                                        std::size_t count) {
    std::vector<Vec3f> out;
    for (std::size_t i = 0; i < count; ++i) {
        const Vec3d c = at3(data[in + "colors"], i);
        out.push_back({static_cast<float>(c.x), static_cast<float>(c.y), static_cast<float>(c.z)});
    }
    return out;
}

}  // namespace gs::test
