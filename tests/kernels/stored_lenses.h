// The lenses of reference/sensors/lenses.npz as cameras.
#pragma once

#include <cmath>
#include <string>

#include "renderer/scene/camera.h"
#include "tests/support/arrays.h"

namespace gs::test {

inline const char* const kStoredLenses[] = {"pinhole",  "opencv",         "kb4",
                                            "kb4_wide", "ftheta_forward", "ftheta_backward",
                                            "ortho",    "equirect"};

inline Camera stored_lens(const Arrays& data, const std::string& name) {
    const auto at = [&](const char* key) -> const Array& { return data[name + "_" + key]; };
    Camera c{.width = static_cast<int>(at("size")[0]), .height = static_cast<int>(at("size")[1])};
    auto& k = c.distortion;
    if (data.has(name + "_f")) {
        c.fx = at("f")[0];
        c.fy = at("f")[1];
        c.cx = at("c")[0];
        c.cy = at("c")[1];
    }
    if (name == "opencv") {
        c.model = CameraModel::full_opencv;
        const Array &r = at("radial"), &t = at("tangential"), &s = at("thin_prism");
        k = {r[0], r[1], t[0], t[1], r[2], r[3], r[4], r[5], s[0], s[1], s[2], s[3]};
    } else if (name.starts_with("kb4")) {
        c.model = CameraModel::opencv_fisheye;
        for (std::size_t i = 0; i < 4; ++i) k[i] = at("radial")[i];
    } else if (name == "ortho") {
        c.model = CameraModel::orthographic;
    } else if (name == "equirect") {
        c.model = CameraModel::equirectangular;
        c.fx = c.width / 6.283185307179586;
        c.fy = c.height / 3.141592653589793;
        c.cx = 0.5 * c.width;
        c.cy = 0.5 * c.height;
    } else if (name.starts_with("ftheta")) {
        c.model = CameraModel::ftheta;
        const bool forward = at("ref_forward").scalar() != 0;
        // Any f will do where the polynomial is in its units; of the order of the picture is best.
        c.fx = c.fy = 1000;
        const Array& poly = at(forward ? "fw_poly" : "bw_poly");
        for (std::size_t i = 0; i < 6; ++i)
            k[i] = forward ? poly[i] / c.fx : poly[i] * std::pow(c.fx, static_cast<double>(i));
        for (std::size_t i = 0; i < 3; ++i) k[6 + i] = at("cde")[i];
        k[9] = at("max_angle").scalar();
        k[10] = forward ? 0 : 1;
        c.cx = at("pp")[0] + 0.5;  // counts pixel centres as whole numbers
        c.cy = at("pp")[1] + 0.5;
    }
    return c;
}

}  // namespace gs::test
