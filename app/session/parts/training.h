// Training: the engine's training part: runs and pauses training, goes back to snapshots, evaluates
// between runs, and publishes the state. The run itself is in trainer/run/run.h. Owned by the
// engine; commands call it there.
#pragma once

#include <optional>
#include <string>

#include "app/session/engine_context.h"
#include "app/session/parts/followed_training.h"
#include "app/session/parts/run_progress.h"
#include "app/session/viewer.h"

namespace gs {

class Training final : public PartWith<Viewer, RunProgress, FollowedTraining> {
  public:
    using PartWith::PartWith;

    // ---- commands
    void start();
    void pause();
    void step(std::uint64_t count);
    /// Trains up to (and including) step `step`, then pauses.
    void run_to(std::uint64_t step);
    /// Ends the run: saves all its files; training cannot resume, the model stays on view.
    void stop();
    /// A snapshot of the run; by step, or by its number.
    struct Which {
        std::uint64_t step = 0;    ///< the newest of this step; 0: the newest
        std::uint64_t number = 0;  ///< 0: by step
    };
    /// Goes back to a snapshot.
    void revert(Which which);
    /// Continues from a snapshot as a new run; the present run is saved.
    void branch(Which which);
    /// Empty: into the output folder.
    void save_checkpoint(const std::string& path);
    /// Pauses before the scene is closed. `save`: all files of the run; what fails is published as
    /// not_saved. `discard`: closing will not save it. `stay`: the scene stays open after all, and
    /// training that was paused for this continues.
    enum class Closing { save, discard, stay };
    void prepare_to_close(Closing how);
    /// Measures all test views (or all views when there is none).
    void evaluate();

    /// Saves the run before the scene closes.
    void scene_changed(SceneChange change) override;
    /// Nothing is open, and `why` not; empty: that was wanted.
    void not_opened(std::string why);
    /// A step, or a photo of the run's evaluation. False: there was nothing to do.
    bool advance();
    /// False, with an error reported ("cannot VERB: ..."): no run is open that can take steps.
    bool may_train(const char* verb);
    /// The open run took other settings: with more steps, a finished one is paused.
    void settings_changed();
    bool running() const { return state_ == RunState::training; }
    bool evaluating() const;
    void describe(Published& view) const override;

  private:
    void finish();
    void begin_training(std::uint64_t to);
    void rest(RunState state);
    void went_back(std::string what);
    void report_finish(Run& run);
    void report_evaluation(const Evaluation& evaluation);
    std::uint64_t steps_done() const { return ctx_.scene ? ctx_.scene->steps_done() : 0; }

    bool told_finished_ = false, asked_for_evaluation_ = false;
    RunState state_ = RunState::empty;
    std::string message_;
    std::uint64_t run_to_ = 0;  // 0: to the end
    std::string last_checkpoint_;
    std::vector<std::string> not_saved_;
    bool discards_ = false;                     // closing does not save
    std::optional<std::uint64_t> interrupted_;  // run_to_ when closing paused it
};

}  // namespace gs
