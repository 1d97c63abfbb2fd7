// Asks before quitting or opening another scene would lose unsaved fixes or edits. Drawn by the
// workspace, over everything.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

/// Nothing unless Snapshot::asks_to_quit. Answers with the commands quit and browse.
void draw_quit_question(const Snapshot& snapshot, Commands& commands);

}  // namespace gs
