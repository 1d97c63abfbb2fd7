// `gausscope poses`: exports a capture's cameras or a run's corrected ones in the formats of other
// programs.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/add_value.h"
#include "app/cli/common.h"
#include "app/cli/files/exported_cameras.h"
#include "app/cli/subcommand.h"
#include "base/choice.h"
#include "base/try.h"
#include "renderer/io/captures/camera_export.h"

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
    add_value(
        app, "--format NAME", a.format,
        CLI::IsMember(
            std::vector<std::string>(kCameraFormatNames.begin(), kCameraFormatNames.end())),
        "transforms (transforms.json, points3d.ply), colmap (.bin), colmap-text (.txt) or inria "
        "(cameras.json, input.ply) [colmap]");
    app.add_flag("--no-undistort", a.lenses,
                 "of a capture: cameras with their lenses, not those of resampled photos");
}

Result<int> run(const PosesArguments& a, const CommonArguments& common) {
    GS_TRY(const ExportedCameras from, exported_cameras(a.input, a.lenses));
    const Capture& capture = from.capture;
    const CameraFormat format = *choice_named<CameraFormat>(kCameraFormatNames, a.format);
    GS_TRY(const NewFolders made, prepare_output_folder(a.folder));
    GS_TRY(const auto notes, write_cameras(a.folder, format, capture, from.cameras));
    fmt::print("{}: {} cameras ({} from the run), {} points, as {}\n", a.folder,
               from.cameras.size(), from.corrected,
               capture.points_are_random ? 0 : capture.points.size(), a.format);
    for (const std::string& note : notes) fmt::print("  note: {}\n", note);
    if (common.json)
        print_json({{"command", "poses"},
                    {"input", a.input},
                    {"output", a.folder},
                    {"format", a.format},
                    {"cameras", from.cameras.size()},
                    {"corrected", from.corrected},
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
