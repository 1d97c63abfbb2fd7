#include "app/bundle/capture_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/captures/ply_points.h"
#include "renderer/io/captures/transforms_camera.h"
#include "renderer/io/files/file_set.h"
#include "renderer/io/images/image_io.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

using CaptureJson = nlohmann::ordered_json;

/// Its own, unless that would lead elsewhere.
std::string stored_name(const Capture& capture, std::size_t view) {
    const std::string& name = capture.views[view].name;
    return problem_of_name(name).empty() && name.find("./") == std::string::npos
               ? name
               : fmt::format("photo-{:05}", view);
}

}  // namespace

Result<void> write_capture(const fs::path& folder, const Capture& capture, bool photos,
                           const Progress& progress) {
    GS_TRY_VOID(make_folder(folder));
    CaptureJson train = CaptureJson::array(), test = CaptureJson::array();
    for (std::size_t i = 0; i < capture.views.size(); ++i) {
        const View& view = capture.views[i];
        const fs::path name = fs::path("images") / stored_name(capture, i);
        (view.test ? test : train)
            .push_back(
                frame_json(name.generic_string(), seen_from_zero(view.camera, -capture.origin)));
        if (!photos || !has_photo(view)) continue;
        if (progress && !progress("packing photos", i, capture.views.size()))
            return fail(ErrorKind::cancelled, folder.string(), "was cancelled");
        GS_TRY_VOID(make_folder((folder / name).parent_path()));
        const WholeView whole(view);
        if (!has_photo(*whole)) return fail(ErrorKind::unreadable, "", whole.problem());
        GS_TRY_VOID(write_png(folder / name, whole->photo));
    }
    if (!capture.points_are_random) {
        GS_TRY_VOID(write_ply_points(folder / "points3d.ply", capture));
    }
    CaptureJson whole{{"camera_model", "PINHOLE"}};
    if (!capture.points_are_random) whole["ply_file_path"] = "points3d.ply";
    for (const auto& [name, frames] :
         {std::pair("transforms_train.json", &train), std::pair("transforms_test.json", &test)}) {
        whole["frames"] = std::move(*frames);
        GS_TRY_VOID(write_text_file(folder / name, json_text(whole, 1)));
    }
    return {};
}

}  // namespace gs
