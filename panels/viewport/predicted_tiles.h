// Tiles coloured by their predicted blending time on another GPU (predict.map), over the counted
// picture. Drawn with the viewport's overlays.
#pragma once

#include <imgui.h>

#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"

namespace gs {

/// Over `picture`, which shows `frame`. Nothing unless it is of the same view.
void draw_predicted_tiles(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                          PictureRect picture);

}  // namespace gs
