// Camera: intrinsics and pose. OpenCV axes (x right, y down, z forward), pixel centres at +0.5,
// poses are camera-from-world.
#pragma once

#include <array>

#include "base/vec.h"

namespace gs {

/// The lens models that captures come with and that viewers look through. Formulas: math/lens.h.
/// `orthographic` has parallel rays and is a viewer's; `equirectangular` sees every direction.
enum class CameraModel {
    pinhole,
    simple_radial,
    radial,
    opencv,
    opencv_fisheye,
    orthographic,
    full_opencv,
    thin_prism_fisheye,
    ftheta,
    equirectangular
};
/// The order in which a rolling shutter reads rows or columns; `global`: all at one moment.
enum class Shutter { global, top_to_bottom, left_to_right, bottom_to_top, right_to_left };
/// camera_from_world: p_camera = rotation * p_world + translation.
struct Pose {
    Mat3d rotation{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    Vec3d translation{};
};
/// The pose at `time`, 0 first to 1 last: translations go straight, rotations by slerp.
Pose pose_between(const Pose& first, const Pose& last, double time);

/// Half a line in the world.
struct CameraRay {
    Vec3d origin, direction;  ///< direction of length 1
    bool valid = false;       ///< false where the lens sees nothing
};

struct Camera {
    CameraModel model = CameraModel::pinhole;
    int width = 0, height = 0;  ///< pixels
    /// Pixels; orthographic: pixels per world unit; fisheyes, ftheta, equirectangular: pixels per
    /// radian on the axis.
    double fx = 0, fy = 0;
    double cx = 0, cy = 0;  ///< pixels
    /// By model: simple_radial k1 | radial k1 k2 | opencv k1 k2 p1 p2 | opencv_fisheye k1 k2 k3 k4
    /// | full_opencv k1 k2 p1 p2 k3 k4 k5 k6 s1 s2 s3 s4 | thin_prism_fisheye k1 k2 p1 p2 k3 k4 s1
    /// s3 (COLMAP's order; s1 and s3 are its sx1 and sy1) | ftheta a0..a5 c d e, the largest angle
    /// in radians, and 1 where the polynomial gives the angle of a distance: in units of fx
    /// (math/lens.h).
    std::array<double, 12> distortion{};
    Mat3d rotation{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};  ///< camera_from_world
    Vec3d translation{};  ///< camera_from_world: p_camera = rotation * p_world + translation
    /// A rolling shutter's poses as its first and its last row (or column) is read; between them
    /// translations go straight and rotations by slerp. rotation and translation are those of half
    /// the read-out then, for all that wants one pose. Unused where `shutter` is global.
    Shutter shutter = Shutter::global;
    Pose first, last;

    /// The camera's centre in the world: -rotation^T translation.
    Vec3d position() const;
    /// The world direction of the optical axis.
    Vec3d forward() const { return {rotation.m[2][0], rotation.m[2][1], rotation.m[2][2]}; }
    bool orthographic() const { return model == CameraModel::orthographic; }
    bool rolling() const { return shutter != Shutter::global; }
    /// The pose at this share of the read-out, 0 first to 1 last; the one pose of a global shutter.
    Pose pose_at(double time) const;
    // Through any lens, at the moment that a rolling shutter reads the place: for single points.
    // For many: CameraPixels (camera_lens.h).
    /// Where a point falls, px. `camera_point`: in axes of the one pose. A pinhole's has z > 0;
    /// other lenses give NaN where they do not see it.
    Vec2<double> pixel_of(Vec3d camera_point) const;
    /// What depth is through this lens: z, or the distance where rays go sideways or back
    /// (fisheyes, ftheta, equirectangular).
    double depth_of(Vec3d camera_point) const;
    /// Where the light of a place of the picture (px) comes from.
    CameraRay ray_of(double x, double y) const;
    /// The world point that falls on this place of the picture (px) at this depth.
    Vec3d point_at(double x, double y, double depth) const;
    /// True when sizes and focal lengths are positive and every number that counts is finite.
    bool valid() const;
    /// The same view at `scale` times the picture size: intrinsics follow exactly the rounded size.
    Camera scaled_to(int new_width, int new_height) const;
};

/// Whether both have the same size, model and numbers.
bool same_lens(const Camera& a, const Camera& b);
/// Rotation matrix of a quaternion (normalised here). Source: standard, e.g. Shoemake 1985.
Mat3d rotation_from_quat(Quatd q);
Quatd quat_from_rotation(const Mat3d& r);
/// The turn by `b`, then by `a`.
Quatd product(Quatd a, Quatd b);
/// From a at 0 to b at 1 along the shorter arc, at constant speed (Shoemake 1985). Unit length.
Quatd slerp(Quatd a, Quatd b, double t);
/// Camera at `eye` looking at `target`, `up` pointing up in the picture.
Camera look_at(Vec3d eye, Vec3d target, Vec3d up, int width, int height, double fov_y_radians);

}  // namespace gs
