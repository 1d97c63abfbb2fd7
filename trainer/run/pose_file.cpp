#include "trainer/run/pose_file.h"

#include <cmath>
#include <numbers>

#include "base/json_write.h"
#include "renderer/io/captures/camera_export.h"
#include "renderer/io/captures/transforms_camera.h"
#include "renderer/scene/origin.h"
#include "trainer/poses/pose_refinement.h"

namespace gs {

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
            frame["correction_focal"] = 100 * (camera.fx / view.camera.fx - 1);
        if (view.test || !trainer.settings().refine_poses) continue;
        const Vec3d moved = camera.position() - view.camera.position();
        const PoseCorrection turned{
            quat_from_rotation(transpose(camera.rotation) * view.camera.rotation), moved};
        frame["correction_degrees"] = turned.angle() * 180 / std::numbers::pi;
        frame["correction_move"] = std::sqrt(dot(moved, moved));
    }
    return write_text_file(path, json_text(out, 1));
}

}  // namespace gs
