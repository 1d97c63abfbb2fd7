// RunFolder: the folder of one training run. It is one run's alone: nothing is written over what
// another run left, and while a process trains into it no other one does. run.json in it says what
// the run was made from, so that the folder's path alone is enough to look at it and to resume it.
// Taken by Run before its first step; read by whoever opens a run.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "base/log.h"
#include "renderer/io/captures/capture_io.h"
#include "trainer/run/run_files.h"

namespace gs {

/// Something that happened at a step ("lr_means 0.00016 -> 0.0002").
struct RunMark {
    std::uint64_t step = 0;
    std::string text;
    bool alarm = false;  ///< something to look at, not something that was done
};

/// run.json.
struct RunDescription {
    std::string capture;      ///< an absolute path
    CaptureOptions loading;   ///< how its photos were read; threads, progress and photo_memory are
                              ///< not kept
    double widest_angle = 0;  ///< degrees from the axis, of lenses that bend lines; 0: none does
    std::string parent;       ///< the run it was branched from; empty: none
    std::uint64_t parent_step = 0;
    std::string splats;  ///< whose Gaussians it started from; empty: the capture's points
    std::string block;   ///< of a capture that it trained, as `train --blocks` names it; empty: all
    std::vector<RunMark> marks;
    std::vector<Evaluation> evaluations;
};
nlohmann::ordered_json to_json(const RunDescription& description);

/// Where the photos of a run are and how it read them: by the threads, with the progress and the
/// memory of `here`, around the origin of `checkpoint`. Without a run.json in `folder`: no capture,
/// and `here`.
struct RunPhotos {
    std::string capture;
    CaptureOptions loading;
};
RunPhotos photos_of_run(const fs::path& folder, const fs::path& checkpoint,
                        const CaptureOptions& here);
/// Of another trainer's folder what its own settings file says. Errors: not_found, malformed. Marks
/// and evaluations after `last_step` are left out: a run that resumes from an older checkpoint has
/// not had them.
Result<RunDescription> read_run_description(const fs::path& folder,
                                            std::uint64_t last_step = ~std::uint64_t{0});

/// What a run has left in its folder.
struct RunContents {
    fs::path folder;
    fs::path checkpoint, splats;         ///< empty: there is none
    std::optional<std::uint64_t> steps;  ///< of the checkpoint
    bool foreign = false;                ///< another trainer's (trainer/run/foreign_run.h)
    /// The checkpoint is the newest model that can be looked at; else the splats are.
    bool resumes() const { return !checkpoint.empty() && (steps || splats.empty()); }
    const fs::path& model() const { return resumes() ? checkpoint : splats; }
};
/// Where an older checkpoint is kept.
fs::path kept_checkpoint(const fs::path& folder, std::uint64_t step);
/// The Gaussians of a step that is kept: where INRIA's code leaves them.
fs::path kept_splats(const fs::path& folder, std::uint64_t step);
/// A name that nothing has yet, for the checkpoint (or ".ply") of `step` that a run leaves by
/// undoing steps.
fs::path free_reverted(const fs::path& folder, std::uint64_t step, const char* ending = ".gsc");
/// The steps of the older checkpoints that are kept there.
std::vector<std::uint64_t> kept_steps(const fs::path& folder);

/// The run that `path` is the folder of; nullopt: it is none.
std::optional<RunContents> run_in(const fs::path& path);

/// The folder that it is in; "." when it was named without one.
inline fs::path folder_of_checkpoint(const fs::path& checkpoint) {
    return checkpoint.has_parent_path() ? checkpoint.parent_path() : fs::path(".");
}

/// The process that trains into this folder now; 0: none does.
int training_process(const fs::path& folder);
/// What to say of a folder that holds no run yet, where a process trains into it.
std::optional<Error> still_training(const fs::path& folder);

class RunFolder {
  public:
    /// Makes the folder where it is missing, and takes it until destruction. What a killed process
    /// left half-written goes; one that is only ending is waited for, 2 s at most. `resumed_from`:
    /// the checkpoint that the run resumes from, of `step`; or empty. Errors (usage): another
    /// process trains into it; it holds another run, or a later step of this one, and not
    /// `overwrite`. Unwritable.
    static Result<RunFolder> take(const fs::path& folder, const fs::path& resumed_from,
                                  std::uint64_t step, bool overwrite, const Tell& tell);
    /// The folder that take_new() would make now.
    static fs::path next_new(const fs::path& parent, const std::string& name);
    /// PARENT/NAME-YYYY-MM-DD-N with the first N that is free, taken.
    static Result<RunFolder> take_new(const fs::path& parent, const std::string& name,
                                      const Tell& tell);

    RunFolder(RunFolder&& other) noexcept { *this = std::move(other); }
    RunFolder& operator=(RunFolder&& other) noexcept;
    ~RunFolder();
    const fs::path& path() const { return folder_; }
    /// Removes the run that `overwrite` gave away: once this one can begin, and not before.
    void clear();
    /// It lies where it was taken; else it was removed, or moved away.
    bool held() const;
    /// Not held, and another run lies there now.
    bool moved() const;

  private:
    RunFolder() = default;
    Result<void> lock(const Tell& tell);
    fs::path folder_;
    fs::path resumed_from_;  // stays when the rest is cleared
    bool replaces_ = false;
    int lock_ = -1;
};

}  // namespace gs
