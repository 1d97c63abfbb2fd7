// The differences of a verified frame over the picture, shown from the verified camera only. Drawn
// with the viewport's overlays.
#pragma once

#include <imgui.h>

#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"

namespace gs {

/// Over `picture`, which shows `frame`. Nothing without a report, or from elsewhere.
void draw_verified(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                   PictureRect picture);

}  // namespace gs
