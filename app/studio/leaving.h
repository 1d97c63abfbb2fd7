// Leaving: what happens between the wish to leave a scene (quit, close, open another one) and doing
// so: a question where something would be lost, saving the run, and a question where that fails.
// The studio owns one.
#pragma once

#include <cstdint>

#include "app/session/parts/training.h"
#include "app/studio/studio_state.h"

namespace gs {

/// `now`: without saving what has been asked about; `save`: after saving it.
enum class QuitAnswer { none, now, save, stay };

class Leaving {
  public:
    explicit Leaving(StudioState& state) : state_(state) {}

    /// Gives the engine `job` (empty: ends the program) once nothing is lost by it. A script's wish
    /// counts as the answer to every question.
    Result<void> begin(EngineJob job, bool of_script);
    /// To StudioState::asks_to_leave.
    Result<void> answer(QuitAnswer answer);
    /// Continues when the engine has saved.
    Result<void> advance();
    bool quits() const { return quits_; }

  private:
    Result<void> ask_of_scene();
    Result<void> prepare(Training::Closing how);
    Result<void> save();
    Result<void> go();
    Result<void> question(LeaveQuestion::Of of, std::vector<std::string> lines);

    StudioState& state_;
    EngineJob job_;
    std::uint64_t saving_ = 0;  ///< the command that saves; 0: nothing is waited for
    bool quits_ = false;
};

}  // namespace gs
