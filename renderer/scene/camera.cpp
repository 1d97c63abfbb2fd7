#include "renderer/scene/camera.h"

#include <algorithm>
#include <cmath>

#include "renderer/scene/camera_lens.h"

namespace gs {
namespace {

Vec3d normalized(Vec3d v) {
    const double length = std::sqrt(dot(v, v));
    return length > 0 ? (1.0 / length) * v : v;
}

}  // namespace

Vec3d Camera::position() const { return -(transpose(rotation) * translation); }

Vec2<double> Camera::pixel_of(Vec3d p) const { return CameraPixels(*this).pixel_of(p); }

double Camera::depth_of(Vec3d p) const {
    return math::measures_distance(*this) ? std::sqrt(dot(p, p)) : p.z;
}

CameraRay Camera::ray_of(double x, double y) const { return CameraPixels(*this).ray_of(x, y); }

Vec3d Camera::point_at(double x, double y, double depth) const {
    if (draws_as_pinhole(*this)) {
        const double w = orthographic() ? 1 : depth;
        return transpose(rotation) *
               (Vec3d{(x - cx) / fx * w, (y - cy) / fy * w, depth} - translation);
    }
    // Depth is counted from the one pose, which a rolling shutter's ray need not start at.
    const CameraRay ray = ray_of(x, y);
    const Vec3d from = rotation * ray.origin + translation, along = rotation * ray.direction;
    double t = (depth - from.z) / along.z;
    if (math::measures_distance(*this)) {  // |from + t along| = depth
        const double b = dot(from, along);
        t = std::sqrt(std::max(b * b - dot(from, from) + depth * depth, 0.0)) - b;
    }
    return ray.origin + t * ray.direction;
}

Pose pose_between(const Pose& first, const Pose& last, double time) {
    const Quatd q =
        slerp(quat_from_rotation(first.rotation), quat_from_rotation(last.rotation), time);
    return {rotation_from_quat(q), (1 - time) * first.translation + time * last.translation};
}

Pose Camera::pose_at(double time) const {
    if (!rolling()) return {rotation, translation};
    return pose_between(first, last, time);
}

bool Camera::valid() const {
    if (width <= 0 || height <= 0 || !(fx > 0) || !(fy > 0)) return false;
    double sum = fx + fy + cx + cy;
    const auto add = [&](const Mat3d& turn, Vec3d move) {
        sum += move.x + move.y + move.z;
        for (const auto& row : turn.m)
            for (const double value : row) sum += value;
    };
    add(rotation, translation);
    if (rolling()) {
        add(first.rotation, first.translation);
        add(last.rotation, last.translation);
    }
    for (const double value : distortion) sum += value;
    return std::isfinite(sum);
}

Camera Camera::scaled_to(int new_width, int new_height) const {
    Camera out = *this;
    const double sx = static_cast<double>(new_width) / width,
                 sy = static_cast<double>(new_height) / height;
    out.width = new_width;
    out.height = new_height;
    out.fx *= sx;
    out.cx *= sx;
    out.fy *= sy;
    out.cy *= sy;
    return out;
}

bool same_lens(const Camera& a, const Camera& b) {
    return a.model == b.model && a.width == b.width && a.height == b.height && a.fx == b.fx &&
           a.fy == b.fy && a.cx == b.cx && a.cy == b.cy && a.distortion == b.distortion;
}

Mat3d rotation_from_quat(Quatd q) {
    const double length = std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return math::unit_quat_to_rotation(
        Quatd{q.w / length, q.x / length, q.y / length, q.z / length});
}

Quatd quat_from_rotation(const Mat3d& r) {
    const auto& m = r.m;
    const double trace = m[0][0] + m[1][1] + m[2][2];
    if (trace > 0) {
        const double s = 2 * std::sqrt(trace + 1);
        return {s / 4, (m[2][1] - m[1][2]) / s, (m[0][2] - m[2][0]) / s, (m[1][0] - m[0][1]) / s};
    }
    if (m[0][0] > m[1][1] && m[0][0] > m[2][2]) {
        const double s = 2 * std::sqrt(1 + m[0][0] - m[1][1] - m[2][2]);
        return {(m[2][1] - m[1][2]) / s, s / 4, (m[0][1] + m[1][0]) / s, (m[0][2] + m[2][0]) / s};
    }
    if (m[1][1] > m[2][2]) {
        const double s = 2 * std::sqrt(1 + m[1][1] - m[0][0] - m[2][2]);
        return {(m[0][2] - m[2][0]) / s, (m[0][1] + m[1][0]) / s, s / 4, (m[1][2] + m[2][1]) / s};
    }
    const double s = 2 * std::sqrt(1 + m[2][2] - m[0][0] - m[1][1]);
    return {(m[1][0] - m[0][1]) / s, (m[0][2] + m[2][0]) / s, (m[1][2] + m[2][1]) / s, s / 4};
}

Quatd product(Quatd a, Quatd b) {
    return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
            a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

Quatd slerp(Quatd a, Quatd b, double t) {
    double along = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
    const double sign = along < 0 ? -1 : 1;
    along = std::min(along * sign, 1.0);
    const double angle = std::acos(along);
    // Nearly the same: a straight line is as exact, and does not divide by zero.
    const double s = std::sin(angle);
    const double wa = s < 1e-9 ? 1 - t : std::sin((1 - t) * angle) / s,
                 wb = sign * (s < 1e-9 ? t : std::sin(t * angle) / s);
    const Quatd q{wa * a.w + wb * b.w, wa * a.x + wb * b.x, wa * a.y + wb * b.y,
                  wa * a.z + wb * b.z};
    const double n = 1 / std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return {n * q.w, n * q.x, n * q.y, n * q.z};
}

Camera look_at(Vec3d eye, Vec3d target, Vec3d up, int width, int height, double fov_y_radians) {
    const Vec3d z = normalized(target - eye);
    Vec3d x = cross(z, up);
    if (dot(x, x) < 1e-12) x = cross(z, std::abs(z.x) < 0.9 ? Vec3d{1, 0, 0} : Vec3d{0, 1, 0});
    x = normalized(x);
    const Vec3d y = cross(z, x);
    Camera camera{.width = width, .height = height};
    camera.fx = camera.fy = 0.5 * height / std::tan(0.5 * fov_y_radians);
    camera.cx = 0.5 * width;
    camera.cy = 0.5 * height;
    camera.rotation = {{{x.x, x.y, x.z}, {y.x, y.y, y.z}, {z.x, z.y, z.z}}};
    camera.translation = -(camera.rotation * eye);
    return camera;
}

}  // namespace gs
