// StepKeeper: what a run keeps of its steps for later questions: hashes of every step, where they
// were asked for, and whole steps that were captured. A failure is reported, and ends nothing.
// Owned by RunKeeper.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/file.h"

namespace gs {

class HashLog;
struct RunContext;
struct StepRecord;

class StepKeeper {
  public:
    explicit StepKeeper(RunContext& run);
    ~StepKeeper();

    /// Step `step` goes into a file when it is taken. `path` empty: step-N.gsstep in the run's
    /// folder.
    void capture(std::uint64_t step, fs::path path) { wanted_[step] = std::move(path); }
    /// Hashes of every step go into hashes.txt of the run's folder from the next one on, or not.
    void set_hashes(bool on);
    /// In the folder that was just taken, where they were asked for: behind those up to this step.
    void begin_hashes();
    /// Where the next step has to be put; null: nowhere.
    StepRecord* before_step();
    void after_step();
    /// With `all` every hash goes to the disk.
    void take_hashes(bool all);

  private:
    void save_captured();

    RunContext& run_;
    std::map<std::uint64_t, fs::path> wanted_;  // by step
    std::unique_ptr<StepRecord> record_;
    std::unique_ptr<HashLog> log_;
};

}  // namespace gs
