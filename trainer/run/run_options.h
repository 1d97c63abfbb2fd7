// RunOptions: how a training run goes, by part: what it is made from, what its folder keeps, when
// it measures and saves. Filled in by the command line and the studio's engine; kept by Run.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "renderer/io/captures/capture_io.h"
#include "trainer/run/profile_window.h"
#include "trainer/run/run_files.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/time_lapse.h"

namespace gs {

/// Which older checkpoints stay in the run's folder, beside checkpoint.gsc, which is the newest.
struct KeptCheckpoints {
    std::uint64_t last = 1;   ///< this many of the newest, checkpoint.gsc included
    std::uint64_t every = 0;  ///< and those of every Nth step; 0: none
    bool best = false;        ///< best.gsc: the one with the highest PSNR over the test photos
    std::vector<std::uint64_t> at{};  ///< and those of these steps, with their splats
};

/// What a run is made from.
struct RunOrigin {
    std::string capture;       ///< as it was named
    CaptureOptions loading;    ///< how the capture's photos were read
    std::string backend;       ///< its name
    std::string resumed_from;  ///< the trainer's checkpoint; empty: none
    std::string splats;        ///< whose Gaussians it started from; empty: the capture's points
    std::string block;         ///< as in RunDescription
    double load_seconds = 0;   ///< before the first step
    std::string parent;        ///< the run it was branched from; empty: none, or unknown
    std::uint64_t parent_step = 0;
};

/// What a run's folder keeps.
struct KeeperOptions {
    fs::path folder;  ///< taken before the first step; empty: a new one below `runs`
    fs::path runs = "runs";
    bool overwrite = false;  ///< another run in `folder` is removed, not refused
    bool elsewhere = false;  ///< where `folder` cannot be taken, a new one below `runs` is
    std::shared_ptr<RunFolder> taken;  ///< by a caller that could not wait; null: the run takes it
    std::uint64_t save_every = 5000;   ///< steps between checkpoints; 0: at the end only
    KeptCheckpoints keep;
    /// Of the time lapse. Without a pace a resumed run keeps its own; without cameras it is the
    /// first photo held out. Cameras that were asked for by name (`lapse_named`) replace those the
    /// run had, and begin a time lapse where there was none.
    std::optional<LapsePace> lapse_pace;
    std::function<Result<std::vector<LapseCamera>>(const Capture&)> lapse_cameras;
    bool lapse_named = false;
    /// The viewer's last camera, for thumbnails; empty: there is no viewer.
    std::function<std::optional<Camera>()> last_view;
    std::vector<std::uint64_t> capture_steps;  ///< whole steps to write into files of the folder
    bool hashes = false;                       ///< of every step go into hashes.txt
    fs::path trace;                            ///< a trace is written here at the end; empty: none
    WriteFile write_trace;                     ///< writes it
};

struct RunOptions : RunOrigin, KeeperOptions {
    std::uint64_t evaluate_every = 0;  ///< steps between measurements of the test photos; 0: at the
                                       ///< end only
    /// Host memory that snapshots may take now, bytes; empty: none are taken before an edit.
    std::function<std::uint64_t()> snapshot_budget;
    /// Times of the stages, for metrics.json; asked once, after the last step. Empty: unknown.
    std::function<nlohmann::ordered_json()> stage_times;
    /// Steps to mark for nsys and ncu; `set_profiling` opens and closes their window, empty on the
    /// CPU.
    std::optional<ProfileSteps> profile_steps;
    std::function<void(bool on)> set_profiling;
    Tell tell = write_log;
};

}  // namespace gs
