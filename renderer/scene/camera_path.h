// CameraPath: places a camera passes at given times, and the smooth way between them. What the
// studio's Film panel edits, files keep (io/captures/path_io.h), and films are drawn along. Pure.
#pragma once

#include <array>
#include <vector>

#include "renderer/scene/camera.h"
#include "renderer/scene/viewer_lens.h"

namespace gs {

/// Where a camera stands, how it is turned, and how wide it sees.
struct PathPose {
    Vec3d position{};                                   ///< world
    Mat3d rotation{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};  ///< camera_from_world
    double fov_y = 0.87;                                ///< radians, vertical
};
struct PathKey {
    PathPose pose;
    double time = 0;  ///< seconds from the path's beginning
};

/// How fast the camera goes: as the keys' times say, or at one speed all along, which takes as long
/// as the keys' times do.
enum class PathSpeed { keys, even };
inline constexpr std::array<const char*, 2> kPathSpeedNames{"keys", "even"};

struct CameraPath {
    std::vector<PathKey> keys;  ///< times ascending; the first is the beginning
    bool closed = false;        ///< from the last key back to the first
    double closing = 1;         ///< seconds that takes
    PathSpeed speed = PathSpeed::even;
    bool ease = false;  ///< sets off and comes to rest softly

    /// From the first key to the end; 0: fewer than two keys.
    double seconds() const;
};

/// A path and what is filmed along it.
struct Film {
    CameraPath path;
    int width = 1920, height = 1080;  ///< pixels
    double fps = 30;                  ///< pictures a second
    ViewerLens
        lens{};  ///< a wide one sees the same all along; of a pinhole the keys have the field
};
/// How many pictures a film of `seconds` has; a closed one ends one before its beginning.
std::size_t pictures_of(const CameraPath& path, double fps);

/// The most keys a path can have, and the longest it may take, seconds.
inline constexpr std::size_t kMostPathKeys = 10000;
inline constexpr double kLongestPath = 24 * 3600;
/// The least time between two keys, seconds: speeds stay finite.
inline constexpr double kLeastBetweenKeys = 1e-6;
/// Numbers are finite, rotations are rotations, times ascend by kLeastBetweenKeys: what PathCurve
/// takes.
bool valid(const CameraPath& path);

/// The camera of a pose, for a picture of this size.
Camera camera_of(const PathPose& pose, int width, int height);
/// The pose of a camera; what its lens has besides the focal length is lost.
PathPose pose_of(const Camera& camera);

/// The way through the keys, worked out once.
///   position   centripetal Catmull-Rom through the keys (Yuksel et al. 2011): no loops, no cusps
///   rotation   the same as a cubic Bezier curve of quaternions (de Casteljau by slerp, Shoemake
///              1985), each key's on the side of the one before: never the long way round
///   fov        its logarithm, without overshoot (Fritsch and Butland 1984)
/// Times say how far along that curve: by a cubic through the keys that never goes back, or evenly.
/// All have continuous first derivatives over time.
class PathCurve {
  public:
    /// CHECK: valid(path) and not empty.
    explicit PathCurve(const CameraPath& path);
    /// Times before the beginning or after the end are clamped to them; a closed path repeats.
    PathPose at(double seconds) const;
    double seconds() const { return seconds_; }
    /// When the camera is at a key, seconds; with an even speed that is not its own time.
    double passes(std::size_t key) const;
    /// World units along the curve.
    double length() const { return length_; }

  private:
    struct Node {
        Vec3d position{}, tangent{};  // tangent: per knot
        Quatd rotation{};             // world_from_camera
        Vec3d turn{};                 // per knot, in camera axes
        double log_fov = 0, fov_slope = 0;
        double knot = 0;   // centripetal: the sum of square roots of distances
        double along = 0;  // way until here
        double time = 0, pace = 0;
        bool rests = false;  // the camera hardly moves from here to the next
    };
    Vec3d position(std::size_t segment, double u) const;
    double speed(std::size_t segment, double u) const;
    double way_within(std::size_t segment, double u0, double u1) const;
    Quatd rotation(std::size_t segment, double u) const;
    double way_at(double seconds) const;
    double knot_at(std::size_t segment, double way) const;
    void set_knots();
    void set_tangents();
    void measure();

    std::vector<Node> nodes_;  // keys; the first again at the end of a closed path
    bool closed_, ease_;
    PathSpeed speed_;
    double seconds_ = 0, length_ = 0, way_ = 0;
    std::vector<double> ways_;  // kParts + 1 a segment: way from its begin to part i
    static constexpr std::size_t kParts = 32;
};

/// Poses of `count` pictures, evenly over the path's time; the last is the end, or for a closed
/// path one picture before the beginning comes again.
std::vector<PathPose> poses_along(const CameraPath& path, std::size_t count);

/// Ready-made ways around a scene.
enum class PathPreset { orbit, spiral, dolly };
inline constexpr std::array<const char*, 3> kPathPresetNames{"orbit", "spiral", "dolly"};
/// What they go around.
struct PathPlace {
    Vec3d center{}, up{0, -1, 0};
    double radius = 1, elevation = 0.35;  ///< world units; radians above the plane across `up`
    double fov_y = 0.87;                  ///< radians
    Vec3d from{};  ///< direction the way begins in; 0: a side of the plane across `up`
};
/// A circle; two turns that rise and come closer; from further away straight towards the centre.
/// `share`: 0 the beginning, 1 the end.
PathPose preset_pose(PathPreset preset, const PathPlace& place, double share);
/// The same with keys to change.
CameraPath preset_path(PathPreset preset, const PathPlace& place, double seconds);
/// Where a camera stands around `center` (not at it).
PathPlace place_around(const PathPose& pose, Vec3d center, Vec3d up);

}  // namespace gs
