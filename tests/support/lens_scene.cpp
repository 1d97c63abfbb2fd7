#include "tests/support/lens_scene.h"

#include <algorithm>
#include <numbers>

namespace gs::test {
namespace {

Camera bent(Camera camera, CameraModel model, std::initializer_list<double> coefficients) {
    camera.model = model;
    std::copy(coefficients.begin(), coefficients.end(), camera.distortion.begin());
    return camera;
}
/// px per radian: `angle` across the picture's width.
Camera wide(Camera camera, double angle) {
    camera.fx = camera.width / angle;
    camera.fy = 1.02 * camera.fx;
    return camera;
}

}  // namespace

Camera without_distortion(Camera camera, CameraModel model) {
    camera.model = model;
    camera.distortion = {};
    return camera;
}

std::vector<LensCase> lens_cases(const Camera& pinhole) {
    Camera whole = without_distortion(pinhole, CameraModel::equirectangular);
    whole.fx = whole.width / (2 * std::numbers::pi);
    whole.fy = whole.height / std::numbers::pi;
    whole.cx = 0.5 * whole.width;
    whole.cy = 0.5 * whole.height;
    const auto rolling = [](Camera camera, Shutter shutter) {
        const Mat3d half = rotation_from_quat({1, 0.004, 0.01, -0.006});
        camera.shutter = shutter;
        camera.first = {transpose(half) * camera.rotation,
                        camera.translation + Vec3d{-0.08, 0.02, -0.03}};
        camera.last = {half * camera.rotation, camera.translation + Vec3d{0.08, -0.02, 0.03}};
        return camera;
    };
    const Camera fisheye =
        bent(wide(pinhole, 1.6), CameraModel::opencv_fisheye, {0.03, -0.01, 0.004, -0.001});
    return {{"rolling shutter", rolling(pinhole, Shutter::top_to_bottom)},
            {"rolling fisheye, from the right", rolling(fisheye, Shutter::right_to_left)},
            {"simple radial", bent(pinhole, CameraModel::simple_radial, {-0.12})},
            {"radial", bent(pinhole, CameraModel::radial, {0.15, -0.04})},
            {"opencv", bent(pinhole, CameraModel::opencv, {-0.2, 0.06, 0.004, -0.003})},
            {"full opencv", bent(pinhole, CameraModel::full_opencv,
                                 {0.1, 0.03, 0.002, -0.003, 0.01, 0.12, 0.02, 0.004, 0.003, -0.002,
                                  -0.004, 0.001})},
            {"fisheye",
             bent(wide(pinhole, 1.6), CameraModel::opencv_fisheye, {0.03, -0.01, 0.004, -0.001})},
            {"fisheye of 220 degrees",
             bent(wide(pinhole, 3.84), CameraModel::opencv_fisheye, {-0.02, 0.004, -0.0005, 0.0})},
            {"thin prism fisheye", bent(wide(pinhole, 1.8), CameraModel::thin_prism_fisheye,
                                        {0.02, -0.005, 0.002, -0.001, 0.001, 0.0, 0.003, -0.002})},
            {"ftheta", bent(wide(pinhole, 3.6), CameraModel::ftheta,
                            {0, 1.0, 0.01, -0.02, 0.003, -0.0005, 1.0, 0.002, -0.001, 2.2, 0})},
            {"ftheta, inverse",
             bent(wide(pinhole, 3.6), CameraModel::ftheta,
                  {0, 1.0, -0.01, 0.02, -0.003, 0.0005, 1.0, 0.002, -0.001, 2.2, 1})},
            {"equirectangular", whole}};
}

}  // namespace gs::test
