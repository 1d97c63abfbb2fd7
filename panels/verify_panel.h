// Verify: the viewport's frame beside the double-precision reference, a row a figure of each stage:
// worst and mean difference, where, the tolerance, the verdict. The differences of the pixels are
// drawn over the picture while it is seen from the same place (viewport/verify_overlay.h). A tab of
// the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct VerifyPanel {
    void draw(const Snapshot& snapshot, Commands& commands);
};

}  // namespace gs
