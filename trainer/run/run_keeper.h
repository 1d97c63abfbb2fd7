// RunKeeper: a training run's folder and what it holds: checkpoints, the best, records, thumbnails,
// the time lapse, captured steps. A file that cannot be written goes elsewhere or is reported; the
// run continues. Owned by Run.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/file.h"
#include "trainer/run/run_files.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/step_keeper.h"
#include "trainer/run/time_lapse.h"

namespace gs {

struct RunContext;
struct RunOrigin;

/// What a run of these photos is made from: run.json before anything happened.
RunDescription description_of(const RunOrigin& run, const Capture& photos);

class RunKeeper {
  public:
    explicit RunKeeper(RunContext& run);

    /// Takes the run's folder, so that no other run writes into it; done before the first step at
    /// the latest. Errors: of RunFolder.
    Result<void> take_folder();
    /// Empty: none is taken yet.
    fs::path folder() const;
    /// What is due after a step.
    void after_step();

    /// Into `path`; empty: the run's folder. Returns where it went.
    Result<fs::path> save_checkpoint(fs::path path = {});
    /// Where the rule asks for it and the newest evaluation, of this step, is the best.
    void save_best();
    /// The splats first: they are what the hours were spent on.
    void save_model(bool checkpoint);
    /// run.json, metrics.json, metrics.csv and others.
    void save_records();
    void draw_thumbnails();
    /// "splats", "checkpoint", "run", "steps", "trace", "metrics".
    const RunFiles& files() const { return files_; }
    /// What metrics.json holds.
    nlohmann::ordered_json summary() const;

    /// Pictures from fixed cameras during the run. `cameras`: none leaves them as they are.
    void set_time_lapse(const LapsePace& pace, std::vector<LapseCamera> cameras);
    const TimeLapse& lapse() const { return lapse_; }
    /// A picture of `step` if one is due.
    void take_lapse(std::uint64_t step);
    StepKeeper& steps() { return steps_; }

    /// The run went back to `step`: files of later steps are moved aside.
    void go_back(std::uint64_t step);
    /// Saves everything. Errors: the files are not all in place.
    Result<void> save_as_parent();
    /// A new folder beside the run's own. Errors: of RunFolder.
    Result<RunFolder> take_beside() const;
    /// From `step` on the run is another one, in `folder`.
    void branch(RunFolder folder, std::uint64_t step);

  private:
    void move_in();
    void recall();
    void begin_time_lapse();
    void save_while_training();
    void save_description();
    bool is_kept(std::uint64_t step) const;
    void keep_checkpoint();

    RunContext& run_;
    StepKeeper steps_;
    TimeLapse lapse_;
    RunFiles files_;
    std::vector<std::uint64_t> kept_;  // steps of older checkpoints that this process wrote
    double best_psnr_ = kNotMeasured;  // of best.gsc
    bool reported_disk_ = false;
};

}  // namespace gs
