// `gausscope poses`: exports a capture's cameras or a run's corrected ones in the formats of other
// programs.
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/subcommand.h"
#include "base/choice.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/try.h"
#include "renderer/io/captures/camera_export.h"
#include "renderer/io/captures/transforms_camera.h"
#include "renderer/scene/origin.h"
#include "trainer/run_folder.h"

namespace gs::cli {
namespace {

struct PosesArguments {
    std::string input, folder, format = "colmap";
    bool lenses = false;
};

void add_options(CLI::App& app, PosesArguments& a) {
    app.add_option("IN", a.input,
                   "a run's folder (with poses.json if it corrected poses) or a capture")
        ->required();
    app.add_option("DIR", a.folder, "folder to write into")->required();
    add_value(app, "--format NAME", a.format,
              CLI::IsMember(
                  std::vector<std::string>(kCameraFormatNames.begin(), kCameraFormatNames.end())),
              "transforms (transforms.json, points3d.ply), colmap (.bin) or colmap-text (.txt) "
              "[colmap]");
    app.add_flag("--no-undistort", a.lenses,
                 "of a capture: cameras with their lenses, not those of resampled photos");
}

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

Result<int> run(const PosesArguments& a, const CommonArguments& common) {
    std::string path = a.input;
    CaptureOptions loading;
    loading.undistort = !a.lenses;
    const auto described = read_run_description(a.input);
    if (described) {
        path = described->capture;
        loading = described->loading;
    }
    loading.photos = false;
    GS_TRY(const Capture capture, load_capture(path, loading));
    std::vector<Camera> cameras;
    for (const View& view : capture.views) cameras.push_back(view.camera);
    std::size_t corrected = 0;
    std::error_code ignored;
    const fs::path poses = fs::path(a.input) / "poses.json";
    if (described && fs::exists(poses, ignored)) {
        GS_TRY(corrected, take_corrected(poses, capture, cameras));
    } else if (described) {
        log_info("{}: the run corrected no poses; these are the capture's", a.input);
    }
    const CameraFormat format = *choice_named<CameraFormat>(kCameraFormatNames, a.format);
    GS_TRY(const NewFolders made, prepare_output_folder(a.folder));
    GS_TRY(const auto notes, write_cameras(a.folder, format, capture, cameras));
    fmt::print("{}: {} cameras ({} from the run), {} points, as {}\n", a.folder, cameras.size(),
               corrected, capture.points_are_random ? 0 : capture.points.size(), a.format);
    for (const std::string& note : notes) fmt::print("  note: {}\n", note);
    if (common.json)
        print_json({{"command", "poses"},
                    {"input", a.input},
                    {"output", a.folder},
                    {"format", a.format},
                    {"cameras", cameras.size()},
                    {"corrected", corrected},
                    {"notes", notes}});
    return kDone;
}

}  // namespace

Subcommand poses_command() {
    return subcommand<PosesArguments>(
        "poses", "export the cameras of a capture or the corrected cameras of a run",
        "  gausscope poses out/ sparse/0\n"
        "  gausscope poses captures/fox fox-json/ --format transforms --no-undistort\n",
        add_options, run);
}

}  // namespace gs::cli
