// Cameras: the capture's photos as a list; a click snaps the viewport to one. In a run that
// corrects poses also how far each was turned and moved. A tab of the workspace.
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
