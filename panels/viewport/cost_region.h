// The region with measured costs (cost.region), over the picture. Drawn with the viewport's
// overlays while the picture is of the same view.
#pragma once

#include <imgui.h>

#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"

namespace gs {

/// Over `picture`, which shows `frame`.
void draw_cost_region(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                      PictureRect picture);

}  // namespace gs
