#include "app/viewpoint.h"

#include <cmath>

namespace gs {
namespace {

double fov_y(const Camera& camera) { return camera.fy > 0 ? 2 * std::atan(0.5 * camera.height / camera.fy) : 0.9; }
Vec3d to_double(Vec3f v) { return {v.x, v.y, v.z}; }
double length(Vec3d v) { return std::sqrt(dot(v, v)); }

}  // namespace

Camera with_size_of(const Camera& pose, const Camera& size) {
    Camera out = pose;
    out.width = size.width;
    out.height = size.height;
    out.fx = out.fy = pose.fy * size.height / std::max(1, pose.height);
    out.cx = 0.5 * size.width;
    out.cy = 0.5 * size.height;
    return out;
}

Camera camera_on_all(const SceneInfo& scene, const Camera& current) {
    const Vec3d center = 0.5 * (to_double(scene.lo) + to_double(scene.hi)), up = to_double(scene.up);
    const double radius = std::max(1e-6, 0.5 * length(to_double(scene.hi) - to_double(scene.lo)));
    const double fov = fov_y(current);
    const double aspect = current.height > 0 ? static_cast<double>(current.width) / current.height : 1.0;
    const double half = std::atan(std::tan(0.5 * fov) * std::min(1.0, aspect));
    Vec3d way = current.forward();
    if (!(length(way) > 0.5)) way = {0, 0, 1};
    const Vec3d eye = center - (radius / std::sin(half)) * way;
    return look_at(eye, center, up, current.width, current.height, fov);
}

Camera first_camera(const SceneInfo& scene, const std::vector<CameraRow>& rows, const Camera& size) {
    if (!rows.empty()) return with_size_of(rows.front().camera, size);
    Camera start = size;
    const Vec3d up = to_double(scene.up);
    // From the side and a little above.
    const Vec3d side = std::abs(up.x) < 0.9 ? Vec3d{1, 0, 0} : Vec3d{0, 0, 1};
    const Vec3d across = cross(up, side);
    start = look_at(across + 0.4 * up, {0, 0, 0}, up, size.width, size.height, fov_y(size));
    return camera_on_all(scene, start);
}

Camera turned_to(const Camera& camera, Vec3d target, Vec3d up) {
    Camera out = look_at(camera.position(), target, up, camera.width, camera.height, fov_y(camera));
    return out;
}

}  // namespace gs
