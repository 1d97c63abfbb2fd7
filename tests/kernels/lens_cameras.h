// Cameras of every lens model with distortion that counts, for tests.
#pragma once

#include <array>
#include <vector>

#include "renderer/scene/camera.h"

namespace gs::test {

/// 640 x 480, in the order of CameraModel from pinhole on, ftheta both ways, equirectangular last.
inline std::vector<Camera> every_lens() {
    std::vector<Camera> out;
    const auto add = [&](CameraModel model, double f, std::array<double, 12> k) {
        out.push_back({.model = model,
                       .width = 640,
                       .height = 480,
                       .fx = f,
                       .fy = 1.01 * f,
                       .cx = 321.5,
                       .cy = 238.25,
                       .distortion = k});
    };
    add(CameraModel::pinhole, 500, {});
    add(CameraModel::simple_radial, 500, {-0.2});
    add(CameraModel::radial, 500, {0.12, -0.03});
    add(CameraModel::opencv, 500, {-0.25, 0.08, 0.001, -0.002});
    add(CameraModel::full_opencv, 450,
        {-0.12, 0.03, 0.0011, -0.0007, -0.004, 0.01, 0.002, -0.001, 4e-4, -2e-4, 3e-4, 1e-4});
    add(CameraModel::opencv_fisheye, 250, {0.05, -0.01, 0.002, -0.0003});
    add(CameraModel::thin_prism_fisheye, 260,
        {0.02, -0.004, 0.0008, -0.0005, 0.001, -0.0002, 0.0006, -0.0004});
    add(CameraModel::ftheta, 300,
        {0, 1, 0.02, -0.05, 0.004, 0.001, 0.9997, 0.0002, -0.0004, 2.2, 0});
    add(CameraModel::ftheta, 300, {0, 1, 0.02, 0.03, 0, 0.002, 1, 0, 0, 2.2, 1});
    add(CameraModel::orthographic, 90, {});
    add(CameraModel::equirectangular, 640 / 6.283185307179586, {});
    out.back().fy = 480 / 3.141592653589793;
    out.back().cx = 320;
    out.back().cy = 240;
    return out;
}

}  // namespace gs::test
