// Memory: bytes by category, as bars and a table, and of the whole process; the GPU's memory and
// the host's apart. A tab of the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct MemoryPanel {
    void draw(const Snapshot& snapshot, Commands& commands);
};

}  // namespace gs
