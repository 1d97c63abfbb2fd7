#include "app/cli/files/exported_cameras.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/log.h"
#include "base/try.h"
#include "renderer/io/captures/camera_export.h"
#include "renderer/io/captures/transforms_camera.h"
#include "renderer/scene/origin.h"

namespace gs::cli {
namespace {

/// The cameras of poses.json instead of the capture's. How many are there.
Result<std::size_t> take_corrected(const fs::path& file, const Capture& capture,
                                   std::vector<Camera>& cameras) {
    GS_TRY(const std::string text, read_text_file(file, 256 << 20));
    GS_TRY(const nlohmann::json json, parse_json(text, file.string()));
    if (!json.is_object() || !json.contains("frames") || !json["frames"].is_array())
        return fail(ErrorKind::malformed, file.string(), "contains no list of frames");
    std::map<std::string, Camera> found;
    for (const auto& frame : json["frames"]) {
        Frame read;
        const std::string name =
            frame.is_object() ? frame.value("file_path", std::string()) : std::string();
        const std::string problem =
            name.empty() ? "a frame has no file_path" : read_frame_camera(frame, json, read);
        if (!problem.empty())
            return fail(ErrorKind::malformed, file.string(), fmt::format("{}: {}", name, problem));
        found[name] = read.camera;
    }
    std::size_t taken = 0;
    for (std::size_t v = 0; v < cameras.size(); ++v)
        if (const auto it = found.find(photo_path(capture, capture.views[v])); it != found.end()) {
            cameras[v] = seen_from_zero(it->second, capture.origin);
            ++taken;
        }
    return taken;
}

}  // namespace

Result<ExportedCameras> exported_cameras(const std::string& input, bool lenses) {
    ExportedCameras out;
    std::string path = input;
    CaptureOptions loading;
    loading.undistort = !lenses;
    if (auto described = read_run_description(input)) {
        path = described->capture;
        loading = described->loading;
        out.run = std::move(*described);
    }
    loading.photos = false;
    GS_TRY(out.capture, load_capture(path, loading));
    for (const View& view : out.capture.views) out.cameras.push_back(view.camera);
    std::error_code ignored;
    const fs::path poses = fs::path(input) / "poses.json";
    if (out.run && fs::exists(poses, ignored)) {
        GS_TRY(out.corrected, take_corrected(poses, out.capture, out.cameras));
    } else if (out.run) {
        log_info("{}: the run corrected no cameras; these are the capture's", input);
    }
    return out;
}

}  // namespace gs::cli
