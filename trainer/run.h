// Run: a training run from its first step to what it leaves behind. It owns the trainer, knows when
// to measure the test photos and when to save, and writes the model at once when memory or the
// device fails: a run is never lost. The command line and the studio's engine drive the same Run,
// one piece of work after another, on one thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/record/machine_counters.h"
#include "renderer/rays/sweep_score.h"
#include "trainer/profile_window.h"
#include "trainer/run_alarms.h"
#include "trainer/run_files.h"
#include "trainer/run_folder.h"
#include "trainer/snapshot.h"
#include "trainer/step_keeper.h"
#include "trainer/time_lapse.h"
#include "trainer/trainer.h"

namespace gs {

/// Which older checkpoints stay in the run's folder, beside checkpoint.gsc, which is the newest.
struct KeptCheckpoints {
    std::uint64_t last = 1;   ///< so many of the newest, checkpoint.gsc among them
    std::uint64_t every = 0;  ///< and those of a multiple of so many steps; 0: none
    bool best = false;        ///< best.gsc: the one with the highest PSNR over the test photos
};

/// A state that a run can go back to, with what was on record then.
struct RunSnapshot {
    std::uint64_t number = 0;  ///< 1, 2, ... in the order they were taken
    std::shared_ptr<const TrainingSnapshot> state;
    StepLog steps;
    std::vector<RunMark> marks;
    std::vector<Evaluation> evaluations;
    std::string why;  ///< "before lr_means 0.00016 -> 0.0002"

    std::uint64_t step() const { return state->steps(); }
    std::uint64_t bytes() const;
};

struct RunOptions {
    std::string capture;  ///< as it was named
    fs::path folder;      ///< where the files go; taken before the first step.
                          ///< Empty: a new one below `runs`
    fs::path runs = "runs";
    bool overwrite = false;  ///< another run in `folder` is removed, not refused
    bool elsewhere = false;  ///< where `folder` cannot be taken, a new one below `runs` is
    std::shared_ptr<RunFolder> taken;  ///< by who could not wait for the run; null: it takes it
    CaptureOptions loading;            ///< how the capture's photos were read
    std::uint64_t evaluate_every = 0;  ///< steps between measurements of the test photos; 0: at the
                                       ///< end only
    std::uint64_t save_every = 5000;   ///< steps between checkpoints; 0: at the end only
    KeptCheckpoints keep;              ///< beside the newest
    /// Host memory that snapshots may take now, bytes; empty: none are taken before an edit.
    std::function<std::uint64_t()> snapshot_budget;
    std::string backend;       ///< its name
    std::string resumed_from;  ///< the checkpoint that the trainer goes on from, or empty
    double load_seconds = 0;   ///< what came before the first step
    /// Times of the stages, for metrics.json; asked once, after the last step. Empty: not told.
    std::function<nlohmann::ordered_json()> stage_times;
    /// Steps to mark for nsys and ncu; `set_profiling` opens and closes their window, empty on the
    /// CPU.
    std::optional<ProfileSteps> profile_steps;
    std::function<void(bool on)> set_profiling;
    /// Of the time lapse. Without a pace a run that goes on keeps its own; without cameras it is
    /// the first photo held out. Cameras that were asked for by name (`lapse_named`) take the place
    /// of those the run had, and begin a time lapse where there was none.
    std::optional<LapsePace> lapse_pace;
    std::function<Result<std::vector<LapseCamera>>(const Capture&)> lapse_cameras;
    bool lapse_named = false;
    std::vector<std::uint64_t> capture_steps;  ///< go into files of the folder, whole
    bool hashes = false;                       ///< of every step go into hashes.txt
    /// From where the run was looked at last, for its thumbnails; empty: nobody looks.
    std::function<std::optional<Camera>()> last_view;
    fs::path trace;         ///< a trace is written here at the end; empty: none
    WriteFile write_trace;  ///< writes it
    Tell tell;              ///< empty: the log
};

/// Photos measured one after another, so that something else can be done in between. Run measures
/// with it, and the engine where nothing trains.
class EvaluationJob {
  public:
    using Measure = std::function<Evaluation(const std::vector<std::size_t>& views)>;

    EvaluationJob(std::vector<std::size_t> views, std::uint64_t step) : views_(std::move(views)) {
        result_.step = step;
    }
    /// One photo; false when that was the last.
    bool measure_next(const Measure& measure);
    std::size_t done() const { return next_; }
    std::size_t total() const { return views_.size(); }
    const Evaluation& result() const { return result_; }

  private:
    std::vector<std::size_t> views_;
    std::size_t next_ = 0;
    Evaluation result_;
};

class Run {
  public:
    enum class Did { nothing, step, photo, evaluation };

    Run(std::unique_ptr<Trainer> trainer, RunOptions options);
    ~Run();

    /// The next piece of work: a photo while the test photos are measured (`evaluation`: the last
    /// of them), else a step with what is due after it. After the last step the model is saved,
    /// then measured, then the records are written. Never throws: when a step fails, failure() says
    /// why and everything that could still be read is in files; another call tries to go on.
    Did step();
    /// Ends the run here and saves everything as it is, unless it is saved already.
    void finish();
    /// No step will be taken any more.
    bool ended() const { return ended_; }
    /// Why the last step failed; empty: it did not.
    const std::string& failure() const { return failure_; }

    /// Takes the run's folder, so that nobody else writes into it; done before the first step at
    /// the latest. Errors: of RunFolder.
    Result<void> take_folder();
    /// Empty: it was not taken yet.
    fs::path taken_folder() const { return options_.taken ? options_.taken->path() : fs::path(); }
    /// Puts it on record that something happened at this step.
    void mark(std::string text);
    const std::vector<RunMark>& marks() const { return marks_; }
    /// Of photos that are held out, in order; with what came before it was resumed.
    const std::vector<Evaluation>& evaluations() const { return evaluations_; }
    /// Every step, with those before it was resumed.
    const StepLog& steps() const { return steps_; }

    /// Begins to measure the test photos, or all photos when none is held out.
    void evaluate();
    /// What is being measured; null: nothing.
    const EvaluationJob* evaluating() const { return evaluation_ ? &*evaluation_ : nullptr; }
    /// The newest; without images when nothing was measured yet.
    const Evaluation& evaluation() const { return newest_; }

    /// Into `path`; empty: the run's folder. Where it went.
    Result<fs::path> save_checkpoint(fs::path path = {});
    /// From the next step on; `what` is put on record. The state before is kept in memory (see
    /// snapshots()). A run that has had all its steps goes on when there are more now. True, and
    /// errors: of Trainer::set_settings().
    Result<bool> change(const TrainingSettings& settings, std::string what);

    /// Edits the model between two steps (Trainer::edit); `what` is put on record. The state before
    /// is kept as before a change(). Errors: no memory for it, then nothing has changed; a device
    /// that failed, then failure() says so and what could still be read is in files.
    Result<void> edit(std::string what, const std::function<void(RunArrays&)>& change);

    /// States it can go back to, oldest first: one before each edit, and one before each revert().
    /// Within options().snapshot_budget; the oldest go first.
    const std::deque<RunSnapshot>& snapshots() const { return snapshots_; }
    /// The newest snapshot of `step`; 0: the newest that is not where the run stands. Its number;
    /// Errors (usage): there is none.
    Result<std::uint64_t> snapshot_of(std::uint64_t step) const;
    /// Goes back (or on) to a snapshot: model, settings and records are what they were then. Where
    /// it stood is kept as reverted-STEP.gsc in the folder, and in memory where there is room.
    /// Errors: there is no such snapshot (usage); it could be kept nowhere, then nothing has
    /// changed.
    Result<void> revert(std::uint64_t number);
    /// Saves all that the run leaves behind, and goes on from that snapshot as another run, in a
    /// new folder beside its own. Errors: as revert(); the files are not all in place; of
    /// RunFolder. Then it is the run it was.
    Result<void> branch(std::uint64_t number);
    /// The run it was branched from, where it was known; empty: none.
    const std::string& parent() const { return parent_; }
    std::uint64_t parent_step() const { return parent_step_; }
    /// Pictures from fixed cameras as the run goes on. `cameras`: none leaves them as they are.
    void set_time_lapse(const LapsePace& pace, std::vector<LapseCamera> cameras);
    const TimeLapse& time_lapse() const { return lapse_; }

    /// The next step goes into a file, whole; where it went is told. `path` empty: the run's
    /// folder.
    void capture_next(fs::path path) {
        keeper_.capture(trainer_->steps_done() + 1, std::move(path));
    }
    /// Hashes of every step go into hashes.txt of its folder from the next one on, or no longer.
    void set_hashes(bool on);

    /// Marks other steps for nsys and ncu.
    void profile(ProfileSteps steps) {
        profile_ = ProfileWindow(steps.first, steps.second, options_.set_profiling);
    }
    /// What is done until the next step belongs to no step.
    void pause() { profile_.close(); }

    /// What its splat files say of it.
    TrainedThrough trained_through() const {
        return {trainer_->settings().projection != 0, widest_angle_};
    }

    Trainer& trainer() const { return *trainer_; }
    RunOptions& options() { return options_; }
    const StepReport& last_step() const { return last_; }
    const StepReport& measured_step() const { return measured_; }  ///< newest whose loss is known
    /// "splats", "checkpoint", "run", "steps", "trace", "metrics".
    const RunFiles& files() const { return files_; }
    /// Of steps and measurements, since step first_step().
    double seconds() const { return seconds_; }
    std::uint64_t first_step() const { return first_step_; }
    /// What metrics.json holds.
    nlohmann::ordered_json summary() const;
    nlohmann::ordered_json machine_json() const;

  private:
    Did train();
    bool take_step();
    Did measure_photo();
    void end();
    void rescue(const std::string& why, bool checkpoint);
    void save_model(bool checkpoint);
    void measure_aligned();
    void measure_lidar();
    void save_records();
    void recall();
    void move_in();
    void snapshot_before(const std::string& what);
    Result<void> keep_snapshot(std::string why);
    Result<RunSnapshot> snapshot(std::uint64_t number) const;
    Result<void> keep_present();
    Result<void> go_to(const RunSnapshot& target);
    void drop_old_snapshots();
    void set_later_ones_aside(std::uint64_t step);
    Result<void> save_as_parent();
    void begin_time_lapse();
    void take_lapse(std::uint64_t step);
    void draw_thumbnails();
    void keep_checkpoint();
    void save_best();
    void alarm(std::string text);
    void look_at_disk();
    Result<void> write_description(const fs::path& path) const;
    void save_description();
    void tell(LogLevel level, const std::string& text) const;
    void keep_step();
    void begin_hashes();

    std::unique_ptr<Trainer> trainer_;
    RunOptions options_;
    ProfileWindow profile_;
    StepLog steps_;
    StepReport last_, measured_;
    std::optional<EvaluationJob> evaluation_;
    Evaluation newest_;
    std::optional<SweepScore> lidar_;  ///< of a drive, in the columns held out
    std::uint64_t lidar_step_ = 0;     ///< steps done when it was
    Evaluation aligned_;  ///< of test photos from where the model has them; empty: not measured
    std::vector<RunMark> marks_;
    std::vector<Evaluation> evaluations_;
    RunAlarms alarms_;
    std::deque<RunSnapshot> snapshots_;
    std::uint64_t snapshots_taken_ = 0;
    std::vector<std::uint64_t> kept_;  // steps of older checkpoints that this process wrote
    double best_psnr_ = kNotMeasured;  // of best.gsc
    std::string parent_;
    std::uint64_t parent_step_ = 0;
    double widest_angle_ = 0;  // as RunDescription has it
    TimeLapse lapse_;
    StepKeeper keeper_;
    RunFiles files_;
    std::unique_ptr<nlohmann::ordered_json> stages_;  // null: not asked yet
    std::string failure_;
    std::uint64_t first_step_, saved_step_;  // steps done: at the beginning, and in the files
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    MachineTotals machine_begin_ = machine_totals();
    double seconds_ = 0;
    bool begun_ = false, ended_ = false, stopped_ = false, records_due_ = false;
    bool moved_on_ = true;  // since the newest snapshot
    bool edited_ = false;   // without a step since
    bool unsaved_edit_ = false;
    bool told_disk_ = false;
};

}  // namespace gs
