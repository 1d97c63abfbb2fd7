// Tiles coloured by the time that blending them would take on a GPU that is not here
// (predict.map), over the picture whose counts were taken. Drawn with the viewport's overlays.
#pragma once

#include <imgui.h>

#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"

namespace gs {

/// Over `picture`, which shows `frame`. Nothing unless it is of the same view.
void draw_predicted_tiles(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                          PictureRect picture);

}  // namespace gs
