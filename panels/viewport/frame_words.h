// Describes a picture in words: for the overlays and for the value under the mouse.
#pragma once

#include <string>
#include <vector>

#include "panels/state/snapshot.h"

namespace gs {

/// Whether the picture has a value per pixel or tile, with a legend.
bool has_map(const ViewFrame& frame);
/// The map's value at a pixel; NaN if there is none.
double map_value(const ViewFrame& frame, int x, int y);
/// The frame's pixel (x, y) in words: value and unit of a map, or the colour; the same for the
/// compared scene. `read`: that pixel's colour if the frame's picture is in device memory.
std::string pixel_text(const ViewFrame& frame, int x, int y, const PixelColor& read = {});

/// Size, step, cost, score. When two scenes are compared, the score comes first, as space is short.
std::vector<std::string> facts_of(const ViewFrame& frame);
/// What the picture hides, in words.
std::vector<std::string> what_is_cut(const ViewFrame& frame);
/// Statistics of its map.
std::vector<std::string> statistics_of(const ViewFrame& frame);
/// Similarity of the two scenes' pictures; empty: unknown.
std::string nearness_of(const ViewFrame& frame);

/// Why the picture does not show the requested mode, or is empty; empty text: it does.
std::string what_is_not_shown(const ViewFrame& frame);
/// Settings without effect on this picture; empty: none.
std::string what_is_left_out(const Snapshot& snapshot, const ViewFrame& frame);

}  // namespace gs
