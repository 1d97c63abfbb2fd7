#include "trainer/run/pose_file.h"

#include <cmath>
#include <map>
#include <numbers>

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/captures/camera_export.h"
#include "renderer/io/captures/transforms_camera.h"
#include "renderer/scene/origin.h"
#include "trainer/poses/pose_refinement.h"

namespace gs {
namespace {

constexpr const char* kFocal = "correction_focal";

struct StoredCamera {
    Camera camera;
    bool has_lens = false;  // refined
};

/// `given`, turned and moved as a whole to where it is `now`.
Camera moved_to(const Camera& given, const Camera& now) {
    return corrected(given, {quat_from_rotation(transpose(now.rotation) * given.rotation),
                             now.position() - given.position()});
}

Camera taken(const StoredCamera& stored, const Camera& given) {
    // Photos that are resampled now have no such lens.
    const bool resampled =
        given.model == CameraModel::pinhole && stored.camera.model != CameraModel::pinhole;
    Camera out = given;
    if (stored.has_lens && !resampled) {
        out = stored.camera.scaled_to(given.width, given.height);
        out.rotation = given.rotation;
        out.translation = given.translation;
    }
    return moved_to(out, stored.camera);
}

}  // namespace

Result<void> write_poses(const fs::path& path, const Trainer& trainer) {
    const Capture& capture = trainer.capture();
    nlohmann::ordered_json out{{"camera_model", "PINHOLE"}};
    auto& frames = out["frames"] = nlohmann::ordered_json::array();
    for (std::size_t v = 0; v < capture.views.size(); ++v) {
        const View& view = capture.views[v];
        const Camera camera = trainer.camera_of(v);
        auto& frame = frames.emplace_back(
            frame_json(photo_path(capture, view), seen_from_zero(camera, -capture.origin)));
        if (trainer.settings().refine_intrinsics)
            frame[kFocal] = 100 * (camera.fx / view.camera.fx - 1);
        if (view.test || !trainer.settings().refine_poses) continue;
        const Vec3d moved = camera.position() - view.camera.position();
        const PoseCorrection turned{
            quat_from_rotation(transpose(camera.rotation) * view.camera.rotation), moved};
        frame["correction_degrees"] = turned.angle() * 180 / std::numbers::pi;
        frame["correction_move"] = std::sqrt(dot(moved, moved));
    }
    return write_text_file(path, json_text(out, 1));
}

Result<StoredPoses> read_poses(const fs::path& path, const Capture& capture) {
    GS_TRY(const std::string text, read_text_file(path, 256 << 20));
    GS_TRY(const nlohmann::json json, parse_json(text, path.string()));
    if (!json.is_object() || !json.contains("frames") || !json["frames"].is_array())
        return fail(ErrorKind::malformed, path.string(), "contains no list of frames");
    std::map<std::string, StoredCamera> stored;
    for (const auto& frame : json["frames"]) {
        Frame read;
        const auto& file = member(frame, "file_path");
        const std::string name = file.is_string() ? file.get<std::string>() : std::string();
        const std::string problem =
            name.empty() ? "a frame has no file_path" : read_frame_camera(frame, json, read);
        if (!problem.empty())
            return fail(ErrorKind::malformed, path.string(), fmt::format("{}: {}", name, problem));
        stored[name] = {seen_from_zero(read.camera, capture.origin), frame.contains(kFocal)};
    }
    StoredPoses out;
    for (const View& view : capture.views) {
        const auto it = stored.find(photo_path(capture, view));
        out.cameras.push_back(it == stored.end() ? view.camera : taken(it->second, view.camera));
        if (it != stored.end()) ++out.found;
    }
    return out;
}

}  // namespace gs
