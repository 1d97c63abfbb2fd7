// Cameras: a list of the capture's photos; click one to go to its camera. If the run corrects
// poses, the list shows each correction. A tab of the workspace.
#pragma once

#include <string>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct CamerasPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    std::string filter;
    int split = 0;  ///< 0 all, 1 train, 2 test
    int last_snapped = -1;
};

}  // namespace gs
