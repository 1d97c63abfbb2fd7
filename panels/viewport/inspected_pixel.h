// The inspected pixel, its tile, and the ellipse of one Gaussian of its list, over the picture.
// Drawn with the viewport's overlays while the picture is of the same view.
#pragma once

#include <imgui.h>

#include <vector>

#include "panels/state/snapshot.h"
#include "panels/viewport/frusta.h"
#include "renderer/inspect/pixel_report.h"

namespace gs {

/// The edge of a Gaussian on the picture, where its alpha is 1/255, as corners of a closed line in
/// pixels of the picture it was inspected in; empty where it is nowhere that opaque.
std::vector<Pixel> edge_of(const PixelEntry& entry);

/// Over `picture`, from `corner`, `size` large, which shows `frame`.
void draw_inspected_pixel(ImDrawList& list, const Snapshot& snapshot, const ViewFrame& frame,
                          ImVec2 corner, ImVec2 size);

}  // namespace gs
