// Asks before something is lost: save, discard or cancel. An export, or a checkpoint elsewhere,
// that saves it answers the question. Drawn by the workspace over everything.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

class QuitQuestion {
  public:
    /// `dialog`: the dialog for the file to write is open.
    void draw(const Snapshot& snapshot, Commands& commands, bool dialog);

  private:
    double writing_ = 0;  ///< until when the dialog and the file are waited for; 0: nothing is
    std::string before_;  ///< TrainingStatus::last_checkpoint when that began
};

}  // namespace gs
