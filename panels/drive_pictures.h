// The chosen sweep of a lidar as range images: measured, drawn from the model and what they differ
// by, one under another, with what their colours mean and how well they agree. Part of the Drive
// panel.
#pragma once

#include <imgui.h>

#include "panels/state/drive_state.h"
#include "panels/state/snapshot.h"

namespace gs {

/// As wide as `room`, and as high where that is high enough to see anything.
void draw_sweep_pictures(const DriveState& drive, const Snapshot& snapshot, ImVec2 room);

}  // namespace gs
