// Notices: what goes on in the background, with a bar and a way to cancel it, and what there is to
// tell, over the viewport's lower left corner. What takes less than a moment is not shown. Drawn by
// the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

/// `left`, `bottom`: the corner it grows from; `width`: at most.
void draw_notices(const Snapshot& snapshot, Commands& commands, float left, float bottom,
                  float width);

}  // namespace gs
