// Run: a training run from its first step to its files. It knows when to measure the test photos
// and when to save, and writes the model at once when memory or the device fails: a run is never
// lost. The command line and the studio's engine drive the same Run, one piece of work after
// another, on one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trainer/run/run_keeper.h"
#include "trainer/run/run_record.h"
#include "trainer/run/run_snapshots.h"

namespace gs {

class Run {
  public:
    enum class Did { nothing, step, photo, evaluation };

    Run(std::unique_ptr<Trainer> trainer, RunOptions options);
    Run(const Run&) = delete;  // its parts refer to it
    Run& operator=(const Run&) = delete;

    /// The next piece of work: a photo while the test photos are measured (`evaluation`: the last
    /// of them), else a step with what is due after it. After the last step the model is saved,
    /// then measured, then the records are written. Never throws: when a step fails, failure() says
    /// why and everything that could still be read is in files; another call tries again.
    Did step();
    /// Ends the run here and saves everything as it is, unless it is saved already.
    void finish();
    /// It has steps to take, also when it was ended early.
    bool can_step() const { return run_.failure.empty() && !trainer().finished(); }
    /// Continues a run that was ended early.
    void resume() { run_.ended = run_.stopped = false; }
    /// What was not saved will not be: neither finish() nor save_as_parent() writes anything.
    void discard();
    /// What its files do not have: any steps or edits; edits of Gaussians since the last
    /// checkpoint.
    struct Unsaved {
        bool any, edits;
    };
    Unsaved unsaved() const { return {!run_.saved() || !keeper_.files().in_place(), run_.edited}; }
    /// No step will be taken any more.
    bool ended() const { return run_.ended; }
    /// Why the last step failed; empty: it did not.
    const std::string& failure() const { return run_.failure; }

    /// Begins to measure the test photos, or all photos when none is held out.
    void evaluate() { run_.evaluation.emplace(trainer().capture(), run_.step()); }
    /// The measurement under way; null: none.
    const EvaluationJob* evaluating() const {
        return run_.evaluation ? &*run_.evaluation : nullptr;
    }

    /// From the next step on; `what` is put on record. The state before is kept in memory (see
    /// RunSnapshots). A run that has had all its steps continues when there are more now. True, and
    /// errors: of Trainer::set_settings().
    Result<bool> change(const TrainingSettings& settings, std::string what);
    /// Edits the model between two steps (Trainer::edit); `what` is put on record. The state before
    /// is kept as before a change(). Errors: no memory for it, then nothing has changed; a device
    /// that failed, then failure() says so and what could still be read is in files.
    Result<void> edit(std::string what, const std::function<void(RunArrays&)>& change);

    /// Marks other steps for nsys and ncu.
    void profile(ProfileSteps steps);
    /// The work until the next step belongs to no step.
    void pause() { run_.pause(); }

    Trainer& trainer() const { return *run_.trainer; }
    RunOptions& options() { return run_.options; }
    const RunRecord& record() const { return run_.record; }
    const RunTimes& times() const { return run_.times; }
    RunKeeper& keeper() { return keeper_; }
    RunSnapshots& snapshots() { return snapshots_; }

  private:
    Did train();
    bool take_step();
    Did measure_photo();
    void end();
    void rescue(const std::string& why, bool checkpoint);

    RunContext run_;
    RunKeeper keeper_{run_};
    RunSnapshots snapshots_{run_, keeper_};
};

}  // namespace gs
