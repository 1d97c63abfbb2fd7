// Cameras to draw from: a JSON file, a capture, or a circle around the scene. Called by render and
// bench.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"

namespace gs::cli {

struct NamedCamera {
    std::string name;  ///< becomes the file name
    Camera camera;
};

/// A JSON list of cameras, or an object with the list under "cameras". Each has a size and a lens:
/// width, height, and fx, fy, cx, cy in pixels or fov_y in degrees; and a pose: "camera_from_world"
/// (3 or 4 rows of 4 numbers, OpenCV axes), or "position" with "rotation" (world_from_camera, as
/// cameras.json of the 3DGS code), or "position" with "target" and "up". docs/cli.md has examples.
Result<std::vector<NamedCamera>> read_cameras(const std::string& path);
std::vector<NamedCamera> cameras_of(const Capture& capture, bool test_only);

/// Where a circle around the scene goes.
struct Orbit {
    Vec3d center{}, up{0, -1, 0};
    double radius = 1, elevation = 0.35;  ///< radians above the plane across `up`
    double fov_y = 0.87;                  ///< radians
};
/// Around the middle of the Gaussians; which way is up cannot be known from them, so it is -y as in
/// most captures.
Orbit orbit_of(const GaussianModel& model);
/// Around what the capture's cameras look at, at their mean distance and height.
Orbit orbit_of(const Capture& capture);
std::vector<NamedCamera> orbit_cameras(const Orbit& orbit, int count, int width, int height);
/// "orbit:N" -> N. Errors (usage): anything else.
Result<int> parse_path(const std::string& text);

}  // namespace gs::cli
