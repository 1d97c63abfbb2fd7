// Training: the engine's training part: runs and pauses training, edits settings live, evaluates
// between runs, and publishes the state. The run itself is in trainer/run.h. Owned by the engine;
// commands call it there.
#pragma once

#include <optional>
#include <string>

#include "app/session/engine_context.h"
#include "app/session/run_plots.h"
#include "app/session/viewer.h"

namespace gs {

class Training final : public EnginePart {
  public:
    /// `settings`: the session's, edited here.
    Training(EngineContext ctx, TrainingSettings& settings, Viewer& viewer);

    // ---- commands
    void start();
    void pause();
    void step(std::uint64_t count);
    /// Trains up to (and including) step `step`, then pauses.
    void run_to(std::uint64_t step);
    /// Ends the run: saves all its files; training cannot resume, the model stays on view.
    void stop();
    void set(const std::string& name, double value);
    /// Trains only inside the box, and removes Gaussians outside now; no box: ends the crop. False,
    /// with an error reported: this crop is not possible.
    bool crop(const std::optional<ClipBox>& box);
    /// Draws pose corrections as arrows, or not; no value: toggles.
    void show_pose_arrows(std::optional<bool> on);
    /// A snapshot of the run; by step, or by its number.
    struct Which {
        std::uint64_t step = 0;    ///< the newest of this step; 0: the newest
        std::uint64_t number = 0;  ///< 0: by step
    };
    /// Goes back to a snapshot.
    void revert(Which which);
    /// Continues from a snapshot as a new run; the present run is saved.
    void branch(Which which);
    /// Draws the curves of the run in this folder behind the present run's.
    void show_other(const std::string& folder);
    /// Empty: all of them go.
    void hide_other(const std::string& name);
    /// Takes pictures from fixed cameras during the run (choose_lapse_cameras). `pace`: unchanged
    /// if empty, or auto. No names: its current cameras, if it has any.
    void set_time_lapse(std::optional<LapsePace> pace, const std::string& names,
                        const std::vector<LapseCamera>& saved);
    /// Marks steps `first` to `last` for nsys and ncu.
    void profile(std::uint64_t first, std::uint64_t last);
    /// Captures the next step into a file for `gausscope replay`; a paused run takes it and pauses
    /// again. Empty: into the run's folder.
    void capture_step(const std::string& path);
    /// Writes hashes of every step into the run's folder, for `gausscope diff`.
    void set_hashes(bool on);
    /// Empty: into the output folder.
    void save_checkpoint(const std::string& path);
    /// Measures all test views (or all views when there is none).
    void evaluate();

    /// Saves the run before the scene closes.
    void scene_changed(SceneChange change) override;
    /// Nothing is open, and `why` not; empty: that was wanted.
    void not_opened(std::string why);
    /// A step, or a photo of the run's evaluation. False: there was nothing to do.
    bool advance();
    bool running() const { return state_ == RunState::training; }
    bool evaluating() const;
    void describe(Published& view) const override;
    /// Curves and rows of cameras. True: something was.
    bool publish_when_due();
    bool is_restless() const override {
        return curves_.changed || cameras_.changed || lapse_.changed;
    }

  private:
    void finish();
    bool may_train(const char* verb);
    void begin_training(std::uint64_t to);
    void rest(RunState state);
    void recall(const Run& run);
    bool edit(const NamedValues& values);
    void edit_undoably(const NamedValues& values);
    std::string why_not_crop(const TrainingSettings& changed) const;
    Run* run_to_go_back(Which& which);
    void went_back(std::string what);
    void take_marks(const Run& run);
    void publish_others();
    void publish_lapse();
    void publish_looks();
    void tell_finished(Run& run);
    void tell_evaluation(const Evaluation& evaluation);
    std::uint64_t steps_done() const { return ctx_.scene ? ctx_.scene->steps_done() : 0; }

    EngineContext ctx_;
    TrainingSettings& settings_;
    Viewer& viewer_;
    RunPlots plots_;
    struct Other {
        OtherCurves shown;
        std::optional<TrainingSettings> settings;
    };
    std::vector<Other> others_;
    bool told_finished_ = false;
    bool pose_arrows_ = true;
    RunState state_ = RunState::empty;
    std::string message_;
    std::uint64_t run_to_ = 0;  // 0: to the end
    std::string last_checkpoint_;
    Paced curves_, cameras_, lapse_;
    std::uint64_t lapse_taken_ = 0;  // pictures that are shown
};

}  // namespace gs
