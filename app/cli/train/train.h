// The arguments of `gausscope train`, and how the studio uses them with --view. Separate from
// train.cpp so that a test can compare them with the studio's import dialog.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/studio.h"
#include "renderer/scene/blocks.h"

namespace gs::cli {

/// What a run trains of a capture that is cut into blocks.
struct TrainedBlock {
    std::string name;  ///< RunDescription::block
    BlockPoints start;
    std::size_t points = 0;                         ///< that it starts from
    std::vector<std::string> left_out, test_views;  ///< names of photos
    Vec3d origin;                                   ///< of the whole capture
};
/// `run` reads the photos and points of the block alone.
void narrow(const TrainedBlock& block, RunOptions& run);

struct TrainArguments {
    std::string capture, output;
    CaptureArguments loading;
    std::vector<std::pair<std::string, double>>
        settings;  ///< named by the table in trainer/settings/settings.h, as given
    std::optional<std::uint64_t> eval_every;  ///< none: at the end only, in the studio every 1,000
    RunOptions run;                           ///< what an option sets directly
    std::string resume;                       ///< a run's folder, a checkpoint, or "auto"
    std::string from;                         ///< splats to train further; empty: none
    bool overwrite = false;
    std::uint64_t blocks = 0;                 ///< 0: the capture is not cut
    std::optional<std::uint64_t> seam_steps;  ///< none: a tenth of all
    std::string block;                      ///< a number from 1, or "merge"; empty: all, then merge
    const TrainedBlock* trained = nullptr;  ///< of `blocks`, for one run of them; null: all of it
    std::string lapse, lapse_views;
    std::string layout;  ///< "inria": the folder gets that trainer's files as well; empty: not
    std::optional<double> until_psnr;  ///< dB over the held-out photos that ends the run
    std::string trace, history;
    std::string profile_steps;  ///< "A:B", empty: none
    bool view = false;
    WindowArguments window;
};

/// One run from the capture to its files, without a window. The exit code.
Result<int> train_once(const TrainArguments& a, const CommonArguments& common);
void add_train_options(CLI::App& app, TrainArguments& a);
/// `train --view`. Errors (usage): nothing to train on; steps or pace that are none.
Result<ViewArguments> to_view(const TrainArguments& a);

}  // namespace gs::cli
