#include "renderer/raster/tensor_view.h"

#include <algorithm>

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

}  // namespace

View bare_view(const CameraInput& in, std::size_t view) {
    Camera camera{.model = in.model};
    camera.width = in.width, camera.height = in.height;
    if (in.distortion != nullptr) std::copy_n(in.distortion + 12 * view, 12, &camera.distortion[0]);
    View out{{}, {}, math::make_point_lens(camera), math::make_rolling(camera)};
    out.lens.by_distance = false;
    return out;
}
View view_of(const CameraInput& in, std::size_t view, bool bounded) {
    View out = bare_view(in, view);
    place_view(in, view, bounded, out);
    if (in.shutter == Shutter::global) return out;
    Camera camera;
    camera.width = in.width, camera.height = in.height;
    camera.shutter = in.shutter;
    camera.first = pose_of(in.viewmats + 16 * view);
    camera.last = pose_of(in.viewmats_rs + 16 * view);
    const Pose pose = pose_between(camera.first, camera.last, 0.5);
    out.rotation = pose.rotation, out.translation = pose.translation;
    out.shutter = math::make_rolling(camera);
    return out;
}
std::vector<View> views_of(const CameraInput& in, std::size_t count, bool bounded) {
    std::vector<View> views;
    for (std::size_t i = 0; i < count; ++i) views.push_back(view_of(in, i, bounded));
    return views;
}

CameraRay ray_of(const View& view, Vec2<double> uv) {
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
