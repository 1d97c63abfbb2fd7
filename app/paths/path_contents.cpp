#include "app/paths/path_contents.h"

#include "base/try.h"
#include "profiler/files/trace_file.h"
#include "renderer/io/lidar/lidar_log.h"
#include "trainer/checkpoint.h"
#include "trainer/step_file.h"

namespace gs {
namespace {

bool is_there(const fs::path& file) {
    std::error_code ignored;
    return fs::is_regular_file(file, ignored);
}

PathKind kind_of_file(PathContents& c) {
    const fs::path file = c.path;
    if (is_trace_file(file)) return PathKind::trace;
    if (!is_there(file)) return PathKind::unknown;
    if (file.extension() == ".gsb") return PathKind::bundle;
    if (is_checkpoint(file)) return PathKind::checkpoint;
    if (is_step_file(file)) return PathKind::step;
    // The name of a .json file says little.
    if (c.splats && (c.splats->by_content || file.extension() != ".json")) return PathKind::splats;
    c.capture = find_capture(file);
    if (c.capture.certain) return PathKind::capture;
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
    if (error)
        return fail(ErrorKind::not_found, c.path, "no such file or folder", "check the path");
    if (auto busy = still_training(c.path)) return tl::unexpected(std::move(*busy));
    if (!c.splats && is_there(c.path) && c.splats.error().kind == ErrorKind::unreadable)
        return tl::unexpected(c.splats.error());
    return fail(ErrorKind::unsupported, c.path, "not a capture or splat file",
                "captures contain sparse/0 (COLMAP), transforms.json, OpenSfM's "
                "reconstruction.json or a drive (docs/lidar.md); splat files are " +
                    splat_extensions(false));
}

}  // namespace

PathContents find_contents(const std::string& path) {
    PathContents out{.path = path};
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    const bool folder = fs::is_directory(status);
    if (folder) {
        fs::directory_iterator(path, error);  // asks whether it can be read
        out.run = run_in(path);
    }
    out.splats = find_splats(out.run ? out.run->model() : fs::path(path));
    out.kind = folder ? kind_of_folder(out) : kind_of_file(out);
    if (out.run || (!folder && run_in(out.folder()))) out.run_folder = out.folder();
    const bool model = out.run || out.kind == PathKind::checkpoint;
    out.knows_capture = out.kind == PathKind::capture || out.kind == PathKind::bundle ||
                        (model && is_there(out.folder() / "run.json"));
    if (out.kind <= PathKind::bundle) out.problem = problem_of(out, error).value();
    return out;
}

Result<SplatFile> read_any_splats(const PathContents& from, const SplatReadOptions& options) {
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
        if (const auto described = read_run_description(from.folder()))
            out.trained.widest_angle = described->widest_angle;
    return out;
}

}  // namespace gs
