// Scene: the loaded scene's counts, bounds, photos, loader notes, and distributions of the
// Gaussians' attributes. A tab of the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct ScenePanel {
    void draw(const Snapshot& snapshot, Commands& commands);
};

}  // namespace gs
