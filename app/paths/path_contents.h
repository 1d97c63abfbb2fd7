// What a path is: found once, where a path enters the program (an argument, a command, a dropped
// file), and handed to whatever reads it.
#pragma once

#include <optional>
#include <string>

#include "base/expected.h"
#include "base/file.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/splats/splat_io.h"
#include "trainer/run/run_folder.h"

namespace gs {

enum class PathKind { unknown, trace, lidar, bundle, checkpoint, step, splats, capture };

/// Files can change after they were found; their readers report that.
struct PathContents {
    std::string path{};  ///< as it was given, without a slash at its end
    bool is_folder = false;
    PathKind kind = PathKind::unknown;  ///< of a run's folder: that of its newest model
    std::optional<RunContents> run{};   ///< of the run whose folder it is
    CaptureFiles capture{};             ///< of a capture
    Result<SplatSource> splats{};       ///< of the path or the run's newest model, or why not
    fs::path run_folder{};              ///< of the run that it is or is in; empty: none
    bool knows_capture = false;         ///< it is a capture or names its own
    Error problem{};                    ///< why it is neither a model nor a capture

    /// What it is as a model to look at: of a capture's folder with a run in it, the run's.
    PathKind model_kind() const {
        if (!run) return kind;
        return run->resumes() ? PathKind::checkpoint : PathKind::splats;
    }
    /// The file of that model.
    fs::path model() const { return run ? run->model() : splats ? splats->file : fs::path(path); }
    /// The folder of its run, itself, or the folder that the file is in.
    fs::path folder() const {
        return run ? run->folder : is_folder ? fs::path(path) : folder_of_checkpoint(path);
    }
};
/// By content first, by name where a damaged file would go unrecognized.
PathContents find_contents(const std::string& path);

/// A splat file, a checkpoint, or the newest model of a run's folder. Errors: as read_splats() and
/// read_checkpoint_model().
Result<SplatFile> read_any_splats(const PathContents& from, const SplatReadOptions& options = {});

}  // namespace gs
