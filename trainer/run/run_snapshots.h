// RunSnapshots: states of a training run in host memory: one before each edit and before each
// revert(), to go back to or to branch from. Owned by Run.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "trainer/density/snapshot.h"
#include "trainer/run/run_record.h"

namespace gs {

class RunKeeper;

/// A state that a run can go back to, with its record of then.
struct RunSnapshot {
    std::uint64_t number = 0;  ///< 1, 2, ... in the order they were taken
    std::shared_ptr<const TrainingSnapshot> state;
    RunRecord record;
    std::string why;      ///< "before lr_means 0.00016 -> 0.0002"
    bool edited = false;  ///< RunContext::edited

    std::uint64_t step() const { return state->steps(); }
    std::uint64_t bytes() const {
        return state->bytes() + record.steps.rows().size() * sizeof(StepReport);
    }
};

class RunSnapshots {
  public:
    RunSnapshots(RunContext& run, RunKeeper& keeper) : run_(run), keeper_(keeper) {}

    /// Oldest first. Within RunOptions::snapshot_budget; the oldest go first.
    const std::deque<RunSnapshot>& all() const { return snapshots_; }
    /// The number of the newest snapshot of `step`; 0: the newest that is not the present state.
    /// Errors (usage): there is none.
    Result<std::uint64_t> newest_of(std::uint64_t step) const;
    /// The edit `what` is about to be made. Several edits in one step share the snapshot before the
    /// first. Reports a failure.
    void take_before(const std::string& what);
    /// Goes back (or forward) to a snapshot: model, settings and records are what they were then.
    /// The present state is kept as reverted-STEP.gsc in the folder, and in memory where there is
    /// space. Errors: there is no such snapshot (usage); it could be kept nowhere, then nothing has
    /// changed.
    Result<void> revert(std::uint64_t number);
    /// Saves everything, and continues from that snapshot as another run, in a new folder beside
    /// its own. Errors: as revert(); the files are not all in place; of RunFolder. Then the run is
    /// unchanged.
    Result<void> branch(std::uint64_t number);

  private:
    Result<void> take(std::string why);
    Result<RunSnapshot> find(std::uint64_t number) const;
    Result<void> keep_present();
    Result<void> go_to(const RunSnapshot& target);

    RunContext& run_;
    RunKeeper& keeper_;
    std::deque<RunSnapshot> snapshots_;
    std::uint64_t taken_ = 0;
};

}  // namespace gs
