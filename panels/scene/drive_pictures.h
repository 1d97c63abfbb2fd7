// The current lidar sweep as range images, one below the other: measured, rendered from the model,
// and their difference, with the colour scale and the agreement. Part of the Drive panel.
#pragma once

#include <imgui.h>

#include "panels/state/drive_state.h"
#include "panels/state/snapshot.h"

namespace gs {

/// Draws at the width of `room`, and its height if that is enough to see anything.
void draw_sweep_pictures(const DriveState& drive, const Snapshot& snapshot, ImVec2 room);

}  // namespace gs
