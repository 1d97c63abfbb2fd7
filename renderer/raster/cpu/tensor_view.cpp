#include "renderer/raster/cpu/tensor_view.h"

#include <algorithm>
#include <cmath>

#include "renderer/scene/camera_lens.h"

namespace gs::tensor {
namespace {

Pose pose_of(const float* m) {
    Pose pose;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) pose.rotation.m[i][j] = m[4 * i + j];
    pose.translation = {m[3], m[7], m[11]};
    return pose;
}

Camera camera_of(const CameraInput& in, std::size_t view) {
    const float* k = in.Ks + 9 * view;
    Camera camera;
    camera.model = in.model;
    camera.width = in.width, camera.height = in.height;
    camera.fx = k[0], camera.fy = k[4], camera.cx = k[2], camera.cy = k[5];
    if (in.model == CameraModel::ftheta) {
        // gsplat's polynomials are of pixels, and its principal point is from a pixel's centre.
        camera.fx = camera.fy = 1;
        camera.cx += 0.5, camera.cy += 0.5;
    }
    if (in.distortion != nullptr) std::copy_n(in.distortion + 12 * view, 12, &camera.distortion[0]);
    Pose pose = pose_of(in.viewmats + 16 * view);
    if (in.shutter != Shutter::global) {
        camera.shutter = in.shutter;
        camera.first = pose, camera.last = pose_of(in.viewmats_rs + 16 * view);
        pose = pose_between(camera.first, camera.last, 0.5);
    }
    camera.rotation = pose.rotation, camera.translation = pose.translation;
    return camera;
}

/// gsplat's limit of a fisheye: no farther from the axis than the farthest corner is of an
/// undistorted one, and in front.
double widest_fisheye(const Camera& c) {
    constexpr double kQuarterTurn = 1.57079632679489662;
    const double x = std::max(c.width - c.cx, c.cx), y = std::max(c.height - c.cy, c.cy),
                 corner = std::sqrt(x * x + y * y);
    return std::min(kQuarterTurn, std::max(corner / c.fx, corner / c.fy));
}

}  // namespace

math::LensCamera<double> view_of(const CameraInput& in, std::size_t view, bool bounded) {
    const Camera camera = camera_of(in, view);
    math::Lens<double> lens = math::make_point_lens(camera);
    lens.by_distance = false;
    if (in.model == CameraModel::opencv_fisheye) {
        const double widest = widest_fisheye(camera);
        lens.limit_squared = std::min(lens.limit_squared, widest * widest);
    }
    if (bounded) {
        const double margin_x = 0.15 * in.width / lens.fx, margin_y = 0.15 * in.height / lens.fy;
        lens.a_lo = -lens.cx / lens.fx - margin_x;
        lens.a_hi = (in.width - lens.cx) / lens.fx + margin_x;
        lens.b_lo = -lens.cy / lens.fy - margin_y;
        lens.b_hi = (in.height - lens.cy) / lens.fy + margin_y;
    }
    return {camera.rotation, camera.translation, lens, math::make_rolling(camera)};
}
std::vector<math::LensCamera<double>> views_of(const CameraInput& in, std::size_t count,
                                               bool bounded) {
    std::vector<math::LensCamera<double>> views;
    for (std::size_t i = 0; i < count; ++i) views.push_back(view_of(in, i, bounded));
    return views;
}

CameraRay ray_of(const math::LensCamera<double>& view, Vec2<double> uv) {
    const math::Ray<double> ray = math::lens_ray(view.lens, uv);
    const math::Rolling<double>& shutter = view.shutter;
    const double moment = shutter.on ? math::moment_of(shutter, uv) : 0;
    const auto to_world = [&](Vec3d v) {
        return transpose(view.rotation) * (shutter.on ? math::turned(shutter, -moment, v) : v);
    };
    return {to_world(ray.origin - view.translation - moment * shutter.drift),
            to_world(ray.direction), ray.valid};
}

}  // namespace gs::tensor
