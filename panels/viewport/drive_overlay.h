// The current lidar sweep over the viewport's picture (view.sweep): its returns as dots at their
// measured places, the sensor's path, and the axes of sensor and camera at that time. Drawn with
// the viewport's overlays.
#pragma once

#include <imgui.h>

#include <string>

#include "panels/state/snapshot.h"
#include "panels/viewport/chips.h"

namespace gs {

/// Most dots to draw; of more, every Nth.
inline constexpr std::size_t kMostSweepDots = 40'000;

/// `photo_instead`: only the dots, since they match the photo.
void draw_sweep_overlay(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                        PictureRect picture, bool photo_instead);
/// "sweep 000012 at 1.20 s: range 1 .. 80 m"; empty: none is drawn.
std::string words_of_sweep(const Snapshot& snapshot);

}  // namespace gs
