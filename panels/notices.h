// Notices: running background work with a progress bar and a cancel button, and messages, over the
// viewport's lower left corner. Work that takes only a moment is not shown. Drawn by the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

/// `left`, `bottom`: the corner it grows from; `width`: at most.
void draw_notices(const Snapshot& snapshot, Commands& commands, float left, float bottom,
                  float width);

}  // namespace gs
