// The rolling shutter of the current photo, over its picture (view.shutter.arrows): arrows in the
// colours of their rows' times, and the times. Drawn with the viewport's overlays.
#pragma once

#include <imgui.h>

#include <string>

#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"

namespace gs {

void draw_shutter(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                  PictureRect picture);
/// Its values in words; empty: nothing to draw.
std::string words_of_shutter(const Snapshot& snapshot, const ViewFrame& frame);

}  // namespace gs
