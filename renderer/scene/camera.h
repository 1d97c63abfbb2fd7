// Camera: intrinsics and pose. OpenCV axes (x right, y down, z forward), pixel centres at +0.5,
// poses are camera-from-world.
#pragma once

#include <array>

#include "base/vec.h"

namespace gs {

/// The lens models captures come with, and one that only a viewer has: `orthographic`, whose rays
/// are parallel. Renderers take `pinhole`, and `orthographic` where no gradients are wanted;
/// loading resamples photos of the others (io/undistort.h).
enum class CameraModel { pinhole, simple_radial, radial, opencv, opencv_fisheye, orthographic };

struct Camera {
    CameraModel model = CameraModel::pinhole;
    int width = 0, height = 0;           ///< pixels
    double fx = 0, fy = 0;               ///< pixels; orthographic: pixels per world unit
    double cx = 0, cy = 0;               ///< pixels
    std::array<double, 4> distortion{};  ///< k1 | k1 k2 | k1 k2 p1 p2 | k1 k2 k3 k4, by model
    Mat3d rotation{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};  ///< camera_from_world
    Vec3d translation{};  ///< camera_from_world: p_camera = rotation * p_world + translation

    /// The camera's centre in the world: -rotation^T translation.
    Vec3d position() const;
    /// The world direction of the optical axis.
    Vec3d forward() const { return {rotation.m[2][0], rotation.m[2][1], rotation.m[2][2]}; }
    bool orthographic() const { return model == CameraModel::orthographic; }
    /// Where a point in camera axes falls, px, for the models that renderers take. A pinhole's
    /// point has z > 0.
    Vec2<double> pixel_of(Vec3d camera_point) const;
    /// The world point that falls on this place of the picture (px) at this camera z.
    Vec3d point_at(double x, double y, double z) const;
    /// True when sizes and focal lengths are positive and every number is finite.
    bool valid() const;
    /// The same view at `scale` times the picture size: intrinsics follow exactly the rounded size.
    Camera scaled_to(int new_width, int new_height) const;
};

/// Rotation matrix of a quaternion (normalised here). Source: standard, e.g. Shoemake 1985.
Mat3d rotation_from_quat(Quatd q);
Quatd quat_from_rotation(const Mat3d& r);
/// Camera at `eye` looking at `target`, `up` pointing up in the picture.
Camera look_at(Vec3d eye, Vec3d target, Vec3d up, int width, int height, double fov_y_radians);

}  // namespace gs
