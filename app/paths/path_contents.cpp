#include "app/paths/path_contents.h"

#include "base/try.h"
#include "profiler/files/trace_file.h"
#include "renderer/io/lidar/lidar_log.h"
#include "trainer/checkpoint.h"
#include "trainer/run/foreign_run.h"
#include "trainer/run/step_file.h"

namespace gs {
namespace {

PathKind kind_of_file(PathContents& c) {
    const fs::path file = c.path;
    // JSON of a trace may only look like one.
    const bool json = file.extension() == ".json";
    if (!json && is_trace_file(file)) return PathKind::trace;
    if (!file_exists(file)) return PathKind::unknown;
    if (file.extension() == ".gsb") return PathKind::bundle;
    if (is_checkpoint(file)) return PathKind::checkpoint;
    if (is_step_file(file)) return PathKind::step;
    // The name of a .json file says little.
    if (c.splats && (c.splats->by_content || !json)) return PathKind::splats;
    c.capture = find_capture(file);
    if (c.capture.certain) return PathKind::capture;
    if (json && is_trace_file(file)) return PathKind::trace;
    return is_lidar_log(file) ? PathKind::lidar : PathKind::unknown;
}

PathKind kind_of_folder(PathContents& c) {
    c.capture = find_capture(c.path);
    if (c.capture.certain) return PathKind::capture;
    if (c.run) return c.model_kind();
    if (c.splats && c.splats->by_content) return PathKind::splats;
    return is_lidar_log(c.path) ? PathKind::lidar : PathKind::unknown;
}

tl::unexpected<Error> problem_of(const PathContents& c, const std::error_code& error) {
    if (error == std::errc::permission_denied)
        return fail(ErrorKind::unreadable, c.path, "cannot be read: permission denied",
                    "check its permissions and those of its parent folders");
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
        return fail(ErrorKind::not_found, c.path, "no such file or folder", "check the path");
    if (error) return fail(ErrorKind::unreadable, c.path, error.message());
    if (auto busy = still_training(c.path)) return tl::unexpected(std::move(*busy));
    if (!c.splats && file_exists(c.path) && c.splats.error().kind == ErrorKind::unreadable)
        return tl::unexpected(c.splats.error());
    return fail(ErrorKind::unsupported, c.path, "not a capture or splat file",
                "captures contain sparse/0 (COLMAP), transforms.json, OpenSfM's "
                "reconstruction.json or a drive (docs/lidar.md); splat files are " +
                    splat_extensions(false));
}

}  // namespace

PathContents find_contents(const std::string& path) {
    PathContents out{.path = path};
    while (out.path.size() > 1 && out.path.back() == '/') out.path.pop_back();
    std::error_code error;
    const fs::file_status status = fs::status(out.path, error);
    out.is_folder = fs::is_directory(status);
    if (out.is_folder) {
        fs::directory_iterator(out.path, error);  // asks whether it can be read
        out.run = run_in(out.path);
    }
    out.splats = find_splats(out.run ? out.run->model() : fs::path(out.path));
    out.kind = out.is_folder ? kind_of_folder(out) : kind_of_file(out);
    const fs::path parent = folder_of_checkpoint(out.path);
    const auto around = !out.run && out.kind >= PathKind::bundle ? run_in(parent) : out.run;
    if (around && !around->foreign)  // nothing is written into another trainer's
        out.run_folder = around->folder;
    const bool model = out.run || out.kind == PathKind::checkpoint;
    out.knows_capture =
        out.kind == PathKind::capture || out.kind == PathKind::bundle ||
        (model && (file_exists(out.folder() / "run.json") || foreign_description(out.folder())));
    if (out.kind <= PathKind::bundle) out.problem = problem_of(out, error).value();
    if (out.kind == PathKind::splats && !out.splats) out.problem = out.splats.error();
    return out;
}

Result<SplatFile> read_any_splats(const PathContents& from, const SplatReadOptions& options) {
    if (from.kind == PathKind::unknown && from.is_folder) return tl::unexpected(from.problem);
    SplatFile out;
    if (from.model_kind() == PathKind::checkpoint) {
        GS_TRY(CheckpointModel checkpoint, read_checkpoint_model(from.model()));
        out.model = std::move(checkpoint.model);
        out.format = fmt::format("checkpoint of step {}", checkpoint.steps);
        out.trained.unscented = checkpoint.unscented;
    } else {
        GS_TRY(const SplatSource source, from.splats);
        GS_TRY(out, read_splats(source, options));
    }
    if (!(out.trained.widest_angle > 0))
        if (const auto described =
                read_run_description(from.run_folder.empty() ? from.folder() : from.run_folder))
            out.trained.widest_angle = described->widest_angle;
    return out;
}

}  // namespace gs
