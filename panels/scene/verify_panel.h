// Verify: the viewport's frame against the double-precision reference, one row per figure of each
// stage: worst and mean difference, where, the tolerance, the verdict. While the camera stays, the
// pixels' differences are drawn over the picture (viewport/verify_overlay.cpp). A tab of the
// workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct VerifyPanel {
    void draw(const Snapshot& snapshot, Commands& commands);
};

}  // namespace gs
