// Reads cameras to render from: a JSON file, a capture, or a path through the scene. Called by
// render and bench.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/paths/path_contents.h"
#include "base/expected.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/camera_path.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/model_place.h"
#include "trainer/checkpoint.h"

namespace gs::cli {

struct NamedCamera {
    std::string name;  ///< becomes the file name
    Camera camera;
};

/// At most `most` of them, evenly spread.
template <class T>
std::vector<T> spread(const std::vector<T>& all, std::size_t most) {
    std::vector<T> out;
    const std::size_t count = std::min(all.size(), most);
    for (std::size_t i = 0; i < count; ++i) out.push_back(all[i * all.size() / count]);
    return out;
}
/// With pictures of this width and height, 0 or less of one: in the camera's shape; of both: its
/// own.
Camera resized(const Camera& camera, int width, int height);

/// A JSON list of cameras, or an object with the list under "cameras". Each has a size and a lens:
/// width, height, and fx, fy, cx, cy in pixels or fov_y in degrees; and a pose: "camera_from_world"
/// (3 or 4 rows of 4 numbers, OpenCV axes), or "position" with "rotation" (world_from_camera, as
/// cameras.json of the 3DGS code), or "position" with "target" and "up". docs/cli.md has examples.
/// `origin`: of the scene they look at; the file has places with it added.
Result<std::vector<NamedCamera>> read_cameras(const std::string& path, Vec3d origin = {});
/// Where the photos of a scene are, and how to read them: as its run did, with what `given`
/// and the picture's `background` change, and in `capture` where that is named. Errors (usage): no
/// photos are named, not by its run either; those of capture_options().
Result<RunPhotos> photos_of(const PathContents& scene, const std::string& capture,
                            CaptureArguments given, const CommonArguments& common,
                            const std::string& background = {});
/// What the run of this checkpoint, or of this folder's checkpoint, learned of its photos;
/// `capture` has the cameras that it corrected afterwards. Where photos were added or are missing,
/// or are read otherwise, those that the run had are found by their names in its poses.json; its
/// looks are of its own photos only. Warns of what is not used.
CheckpointViews take_learned_views(const PathContents& scene, Capture& capture);
std::vector<NamedCamera> cameras_of(const Capture& capture, bool test_only);

/// A path around the target of the capture's cameras, at their mean distance and height.
PathPlace place_of(const Capture& capture);

/// The --path to follow, and how to draw it.
struct PathRequest {
    std::string path;           ///< "orbit:N", "spiral:N", "dolly:N": N pictures; or a file
    int width = 0, height = 0;  ///< 0: as the file says, else 1280 wide and 16:9
    double fps = 0;             ///< 0: as the file says, else 30
    Vec3d origin{};             ///< of the scene; a file has places with it added
};
struct PathCameras {
    std::vector<NamedCamera> cameras;  ///< frame_0000 and so on
    double fps = 30;
    std::vector<std::string> notes;  ///< unused parts of the file
};
/// `place`: what the named ways go around. Errors (usage): neither of them; and read_path_file()'s.
Result<PathCameras> path_cameras(const PathRequest& request, const PathPlace& place);
/// A circle around it, seen from `count` places.
std::vector<NamedCamera> orbit_cameras(const PathPlace& place, int count, int width, int height);

}  // namespace gs::cli
