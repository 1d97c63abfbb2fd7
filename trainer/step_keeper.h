// StepKeeper: what a run keeps of its steps for later questions: hashes of every step, where they
// were asked for, and whole steps that were captured. Owned by Run, which tells what it says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "trainer/run_files.h"

namespace gs {

class HashLog;
class Trainer;
struct StepRecord;

class StepKeeper {
  public:
    StepKeeper();
    ~StepKeeper();

    /// Step `step` goes into a file when it is taken. `path` empty: step-N.gsstep in the run's
    /// folder.
    void capture(std::uint64_t step, fs::path path) { wanted_[step] = std::move(path); }
    /// Where the next step has to be put; null: nowhere.
    StepRecord* before(std::uint64_t step);
    /// The step under way is one of those.
    bool captures() const { return record_ != nullptr; }
    /// After the step: what was captured is written. Nothing when none was.
    std::optional<Result<fs::path>> after(Trainer& trainer, const fs::path& folder,
                                          const std::string& capture,
                                          const std::string& stage_times);

    /// Hashes go into hashes.txt of `folder` from now on, behind those up to `last_step`.
    Result<void> begin_hashes(Trainer& trainer, const fs::path& folder, const std::string& backend,
                              std::uint64_t last_step);
    void end_hashes(Trainer& trainer);
    bool hashes() const { return log_ != nullptr; }
    /// What the trainer has; with `all` everything goes to the disk. An error ends the hashes.
    Result<void> take_hashes(Trainer& trainer, bool all);

  private:
    std::map<std::uint64_t, fs::path> wanted_;  // by step
    std::unique_ptr<StepRecord> record_;
    std::unique_ptr<HashLog> log_;
};

}  // namespace gs
