#include "app/cli/files/convert_layout.h"

#include <fmt/core.h>

#include "app/cli/common.h"
#include "app/cli/files/exported_cameras.h"
#include "app/paths/path_contents.h"
#include "base/file.h"
#include "base/try.h"
#include "renderer/io/captures/camera_export.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/origin.h"

namespace gs::cli {
namespace {

/// Quoted as Python prints it.
std::string quoted(const std::string& text) {
    std::string out;
    for (const char c : text)
        out += c == '\\' || c == '\'' ? std::string("\\") + c : std::string(1, c);
    return "'" + out + "'";
}

std::string cfg_args(const fs::path& folder, const RunDescription& run, int sh_degree) {
    const CaptureOptions& l = run.loading;
    const bool white = l.background.x == 1 && l.background.y == 1 && l.background.z == 1;
    return fmt::format(
        "Namespace(data_device='cuda', depths='', eval={}, images='images', model_path={}, "
        "resolution={}, sh_degree={}, source_path={}, train_test_exp=False, white_background={})",
        l.test_every > 0 ? "True" : "False", quoted(fs::absolute(folder).string()),
        l.downscale > 0 ? l.downscale : -1, sh_degree, quoted(run.capture),
        white ? "True" : "False");
}

/// INRIA's code makes another split of these photos than the run's.
bool splits_otherwise(const Capture& capture, bool eval) {
    for (std::size_t v = 0; v < capture.views.size(); ++v)
        if (capture.views[v].test != (eval && v % 8 == 0)) return true;
    return false;
}

/// The folder itself may be there, empty.
Result<void> check_empty(const fs::path& folder) {
    std::error_code ignored;
    if (!fs::exists(folder, ignored) || fs::is_empty(folder, ignored)) return {};
    return fail(ErrorKind::usage, folder.string(), "is not empty", "name a new folder");
}

/// Removes the files again, unless every one of them was written.
class NewFiles {
  public:
    ~NewFiles() {
        std::error_code ignored;
        for (const fs::path& file : files_) fs::remove(file, ignored);
    }
    const fs::path& operator()(const fs::path& file) {
        return path_exists(file) ? file : files_.emplace_back(file);
    }
    void keep() { files_.clear(); }

  private:
    std::vector<fs::path> files_;
};

}  // namespace

Result<Json> convert_to_inria(const std::string& run, const std::string& folder) {
    GS_TRY_VOID(check_empty(folder));
    return lay_out_as_inria(run, folder);
}

Result<Json> lay_out_as_inria(const std::string& run, const std::string& folder) {
    const PathContents contents = find_contents(run);
    if (!contents.run || !contents.knows_capture)
        return fail(ErrorKind::usage, run, "is not the folder of a run that knows its capture",
                    "--layout takes the folder that train wrote");
    GS_TRY(SplatFile splats, read_any_splats(contents));
    GS_TRY(const ExportedCameras from, exported_cameras(run, true));
    meet_origin(splats.model, from.capture.origin);
    const std::uint64_t step = contents.run->steps.value_or(0);
    const fs::path to(folder), model = kept_splats(to, step);
    GS_TRY(const NewFolders made, prepare_output_folder(model.parent_path()));
    NewFiles files;
    GS_TRY(const SplatNotes lost, write_splats(files(model), splats.model, {}));
    GS_TRY_VOID(
        write_text_file(files(to / "cfg_args"), cfg_args(to, *from.run, splats.model.sh_degree)));
    GS_TRY(auto notes, write_cameras(to, CameraFormat::inria, from.capture, from.cameras));
    files.keep();
    notes.insert(notes.end(), lost.begin(), lost.end());
    if (splits_otherwise(from.capture, from.run->loading.test_every > 0))
        notes.emplace_back(
            "the test photos are others than every eighth, which INRIA's code takes");
    fmt::print("{}: {} Gaussians of step {}, {} cameras\n", folder, splats.model.count, step,
               from.cameras.size());
    for (const std::string& note : notes) fmt::print("  note: {}\n", note);
    return Json{{"command", "convert"},
                {"input", run},
                {"output", folder},
                {"layout", "inria"},
                {"gaussians", splats.model.count},
                {"step", step},
                {"cameras", from.cameras.size()},
                {"corrected", from.corrected},
                {"lost", notes}};
}

}  // namespace gs::cli
