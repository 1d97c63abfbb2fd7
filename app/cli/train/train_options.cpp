#include "app/cli/add_value.h"
#include "app/cli/train/blocks.h"
#include "app/cli/train/train.h"

namespace gs::cli {
namespace {

/// Checkpoints and the time lapse.
void add_saving(CLI::App& app, TrainArguments& a) {
    add_value(app, "--save-every N", a.run.save_every, whole_from(0, kMostSteps),
              "save a checkpoint every N steps, 0 = at the end only [5000]");
    add_value(app, "--keep-last N", a.run.keep.last, whole_from(1, 1e6),
              "keep the N newest checkpoints [1]");
    add_value(app, "--keep-every N", a.run.keep.every, whole_from(0, kMostSteps),
              "save and keep a checkpoint every N steps, 0 = none [0]");
    add_value(app, "--save-at N,...", a.run.keep.at, whole_from(1, kMostSteps),
              "save and keep checkpoint and splats of these steps "
              "(point_cloud/iteration_N/point_cloud.ply)")
        ->delimiter(',');
    add_value(app, "--layout NAME", a.layout, CLI::IsMember({"inria"}),
              "also write the results as this trainer does: inria (cameras.json, cfg_args, "
              "input.ply, point_cloud/iteration_N)");
    app.add_flag("--keep-best", a.run.keep.best,
                 "keep the checkpoint with the highest PSNR over the test photos as best.gsc");
    add_value(app, "--timelapse N|auto", a.lapse,
              "render the run from fixed cameras every N steps into DIR/timelapse; auto: "
              "spend 1 % of the time");
    add_value(app, "--timelapse-views NAME,...", a.lapse_views,
              "cameras of the time lapse: photos and saved views, comma separated [first test "
              "photo and all saved views]");
}

/// What is written about how it trains.
void add_recording(CLI::App& app, TrainArguments& a) {
    add_value(app, "--trace FILE", a.trace, "write the timeline as a Perfetto trace");
    add_value(app, "--history FILE", a.history,
              "add times and scores to this file, for `gausscope history`; not with --view");
    add_value(app, "--profile-steps A:B", a.profile_steps,
              "mark steps A to B for nsys and ncu (--capture-range=cudaProfilerApi)");
    add_value(app, "--capture-step N,...", a.run.capture_steps, whole_from(1, kMostSteps),
              "capture these steps into the run's folder, for `gausscope replay`")
        ->delimiter(',');
    app.add_flag("--hashes", a.run.hashes,
                 "write hashes of every step's stages into hashes.txt, for `gausscope diff`");
    add_value(app, "--until-psnr DB", a.until_psnr, number_from(0, 100),
              "stop when the held-out photos reach this PSNR, measured every --eval-every "
              "steps; writes DIR/benchmark.jsonl");
}

}  // namespace

void add_train_options(CLI::App& app, TrainArguments& a) {
    app.add_option(
        "CAPTURE", a.capture,
        "folder with sparse/0 (COLMAP) or transforms.json; with --resume: the run's own");
    add_value(app, "-o,--output DIR", a.output,
              "folder for the results [a new one, runs/NAME-DATE-N; with --resume the run's]");
    add_value(app, "--resume RUN|FILE|auto", a.resume,
              "resume a run's folder or a checkpoint; auto: the run in DIR, if there is one");
    add_value(app, "--from SPLATS", a.from,
              "train these splats further: a splat file, or a run's folder; settings that "
              "would undo them fit it (docs/training.md)");
    app.add_flag("--overwrite", a.overwrite, "replace another run in DIR");
    add_given(
        app, "--blocks N", a.blocks, whole_from(2, kMostBlocks),
        "cut the capture into N parts of the ground, train one after another into DIR/block-K "
        "and merge them into DIR/point_cloud.ply; the same command resumes");
    add_value(app, "--block K|merge", a.block,
              "with --blocks: train only block K, on this machine; merge: only merge the folders "
              "that are there [all, then merge]");
    add_value(app, "--seam-steps N", a.seam_steps, whole_from(0, kMostSteps),
              "with --blocks: train each block N steps more with its neighbours' Gaussians in its "
              "margin, 0 = none [a tenth of --steps]");
    add_value(app, "--eval-every N", a.eval_every, whole_from(0, kMostSteps),
              "evaluate the test photos every N steps, 0 = at the end only [0; with --view 1000]");
    add_saving(app, a);
    add_recording(app, a);
    app.add_flag("--view", a.view, "open the studio on it");
    add_window(app, a.window);
    add_photo_memory(app, a.loading);
    add_value(app, "--lidar PATH,...", a.loading.lidars,
              "also learn from these recordings, with poses in the capture's world; needs "
              "--lidar-weight")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->group("Lidar");
    add_loading(app, a.loading);
    add_background(app, a.loading.background, "Capture");
    add_settings(app, a.settings);
}

}  // namespace gs::cli
