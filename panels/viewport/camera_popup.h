// The "Camera" button of the viewport's toolbar and its popup: lens, near plane, up direction,
// sides to look from, grid, clip box. Everything it does is a command.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

void draw_camera_popup(const Snapshot& snapshot, Commands& commands);

}  // namespace gs
