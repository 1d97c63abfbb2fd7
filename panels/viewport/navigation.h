// Moving the viewport's camera: orbit, trackball, fly, focus, frame all, snap. Pure functions on a
// NavigationState; the viewport panel collects NavigationInput, the app applies it and sends the
// resulting Camera to the engine.
#pragma once

#include <array>

#include "panels/state/snapshot.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/viewer_lens.h"

namespace gs {

/// Everything about the viewport's camera except its picture size. The eye lies `distance` behind
/// `target` along the view.
struct NavigationState {
    Vec3d target{};                                     ///< what orbiting turns around, world
    double distance = 3;                                ///< eye to target, world units, > 0
    Mat3d rotation{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};  ///< camera_from_world
    Vec3d up{0, -1, 0};    ///< unit vector, world; orbit and fly keep the horizon level to it
    double fov_y = 0.87;   ///< radians, vertical
    ViewerLens through{};  ///< orthographic: the width that the field of view has at the target
    double extent = 1;     ///< size of the scene, world units: scales fly speed and limits
    bool snapped = false;  ///< at a capture camera: its lens is used unchanged
    Camera lens;           ///< that camera

    bool parallel() const { return through.orthographic(); }

    Vec3d eye() const;
};

/// One UI frame's input over the viewport, in screen pixels of movement since the last frame.
struct NavigationInput {
    Navigation mode = Navigation::orbit;
    double turn_x = 0, turn_y = 0;  ///< left drag
    double pan_x = 0, pan_y = 0;    ///< middle drag, right drag, or left drag with shift
    double roll = 0;                ///< left drag with ctrl, horizontal
    double zoom = 0;                ///< wheel notches, positive towards the scene
    Vec3d move{};                   ///< keys: right, down, forward, each -1..1
    bool fast = false;              ///< shift held: five times the speed
    double fly_speed = 1;           ///< radii of the scene per second
    double dt = 0;                  ///< seconds since the last frame
    double height_px =
        1;  ///< of the picture on the screen: one height of panning moves one picture height

    /// True when it changes the camera.
    bool any() const;
};

/// The state after `input`. Leaves a snapped camera where anything moved.
NavigationState navigate(NavigationState state, const NavigationInput& input);

inline constexpr double kParallelStandoff = 4;
/// The camera of `state` for a picture of at most width x height pixels: exactly that size, or for
/// a snapped camera the largest of its own aspect that fits. Parallel rays begin
/// kParallelStandoff extents before the target: their distance is the zoom alone.
Camera camera_of(const NavigationState& state, int width, int height);

/// Looks at the whole scene from the present direction: a sphere of radius `scene.radius` around
/// its centre fits the picture.
NavigationState frame_all(NavigationState state, const SceneInfo& scene);
/// A first view of a scene: from its side, a little above, everything in the picture.
NavigationState first_view(const SceneInfo& scene);
/// From the present direction, so that a sphere of `radius` > 0 around `center` (world) fits the
/// picture.
NavigationState frame_sphere(NavigationState state, Vec3d center, double radius);
/// Turns to `point` (world) and makes it the pivot; the eye stays. With parallel rays, where
/// turning has no effect, the point moves to the middle instead.
NavigationState focus(NavigationState state, Vec3d point);
/// Stands exactly at `camera`, with its lens. The pivot is the point of its axis nearest to the old
/// pivot, in front of it.
NavigationState snap(NavigationState state, const Camera& camera);
/// The same place and direction with the horizon level to `up`.
NavigationState level(NavigationState state);
/// With another vertical field of view (radians). A pinhole stays where it is; with parallel rays
/// the picture stays.
NavigationState with_fov(NavigationState state, double fov_y);
/// Through another lens, from the same place. A photo's camera is left.
NavigationState with_lens(NavigationState state, const ViewerLens& lens);
/// Sets the up direction of steering (any length but zero), and levels the horizon to it.
NavigationState with_up(NavigationState state, Vec3d up);

/// A side to look at a scene from.
enum class Side { front, back, left, right, top, bottom };
inline constexpr std::array<const char*, 6> kSideNames{"front", "back", "left",
                                                       "right", "top",  "bottom"};
/// At the present target from a side of the world, as `up` has it: the front is where a world of
/// that up is usually looked at from.
NavigationState from_side(NavigationState state, Side side);

}  // namespace gs
