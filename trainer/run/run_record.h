// RunRecord: what a training run has on record: its steps, marks, measurements and alarms. Going
// back to a snapshot restores it. RunContext: the run as its parts share it. Owned by Run.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/record/machine_counters.h"
#include "renderer/rays/sweep_score.h"
#include "renderer/scene/trained_through.h"
#include "trainer/run/run_alarms.h"
#include "trainer/run/run_options.h"
#include "trainer/trainer.h"

namespace gs {

struct RunRecord {
    explicit RunRecord(std::size_t photos) : alarms(photos) {}
    StepLog steps;  ///< all, those before it was resumed included
    std::vector<RunMark> marks;
    std::vector<Evaluation> evaluations;  ///< of photos held out, in order
    Evaluation evaluation;                ///< the newest; without images: none yet
    Evaluation aligned;  ///< of test photos from where the model has them; at the last step
    std::optional<SweepScore> lidar;  ///< of a drive, in the columns held out; at the last step
    std::uint64_t lidar_step = 0;
    StepReport last, measured;  ///< the newest, and the newest whose loss is known
    RunAlarms alarms;
};

/// Since this process began the run, or branched it.
struct RunTimes {
    explicit RunTimes(std::uint64_t first) : first_step(first) {}
    std::uint64_t first_step;
    double seconds = 0;  ///< of steps and measurements
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    MachineTotals machine = machine_totals();
};

/// Measures photos one by one, so that other work can be done in between. Run measures with it, and
/// the engine where nothing trains.
class EvaluationJob {
  public:
    using Measure = std::function<Evaluation(const std::vector<std::size_t>& views)>;

    /// The test photos, or all photos when none is held out.
    EvaluationJob(const Capture& capture, std::uint64_t step);
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

inline constexpr std::uint64_t kNeverSaved = ~std::uint64_t{0};

struct RunContext {
    RunContext(std::unique_ptr<Trainer> trainer, RunOptions options);
    ~RunContext();

    std::unique_ptr<Trainer> trainer;
    RunOptions options;
    RunRecord record;
    RunTimes times;
    std::optional<EvaluationJob> evaluation;  ///< under way
    ProfileWindow profile;
    std::unique_ptr<nlohmann::ordered_json> stages;  ///< options.stage_times(); null: not asked yet
    std::string failure;       ///< why the last step failed; empty: it did not
    bool ended = false;        ///< no step will be taken any more
    bool stopped = false;      ///< before its last step
    bool begun = false;        ///< it has had a folder
    std::uint64_t saved_step;  ///< steps done in the files; kNeverSaved: after an edit
    bool edited = false;       ///< Gaussians were since the last checkpoint
    bool records_due = false;  ///< metrics.json and others are older than the saved model
    enum class Moved { no, by_edit, by_step } moved = Moved::by_step;  ///< since the last snapshot

    std::uint64_t step() const { return trainer->steps_done(); }
    bool saved() const { return saved_step == step(); }
    bool has_tests() const { return !trainer->capture().view_indices(true).empty(); }
    /// The work until the next step belongs to no step.
    void pause() { profile.close(); }
    void tell(LogLevel level, const std::string& text) const { options.tell(level, text); }
    /// Reports an error. True: there was none.
    bool report(LogLevel level, const Result<void>& done) const {
        if (!done) tell(level, done.error().text());
        return done.has_value();
    }
    /// Puts it on record that something happened at this step.
    void mark(std::string text, bool alarm = false);
    void alarm(std::optional<std::string> text);
    /// After the last step: the test photos from where the model has them, where poses are
    /// corrected, and the lidar of a drive.
    void measure_aligned();
    void measure_lidar();
};

/// What the splat files of a trainer say of it.
TrainedThrough trained_through(const Trainer& trainer);
/// What metrics.json says of the run; its keeper adds the files.
nlohmann::ordered_json summary_of(const RunContext& run);

}  // namespace gs
