// Asks before unsaved edits are lost: export, discard or cancel. An export that saves them answers
// the question. Drawn by the workspace over everything.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

class QuitQuestion {
  public:
    /// `dialog`: the dialog for the file to export to is open.
    void draw(const Snapshot& snapshot, Commands& commands, bool dialog);

  private:
    int exporting_ = 0;  ///< frames to wait for the dialog and the export; 0: the question shows
};

}  // namespace gs
