// Describes a picture in words: for the overlays and for the value under the mouse.
#pragma once

#include <string>
#include <vector>

#include "panels/state/snapshot.h"

namespace gs {

/// The picture has a quantity a pixel or tile, with a legend.
bool has_map(const ViewFrame& frame);
/// The map's value at a pixel; NaN where there is none.
double map_value(const ViewFrame& frame, int x, int y);
/// What the pixel (x, y) of the frame holds, in words: value and unit of a map, or the colour; the
/// same of the scene it is compared with. `read`: that pixel's colour where the frame's picture is
/// in device memory.
std::string pixel_text(const ViewFrame& frame, int x, int y, const PixelColor& read = {});

/// Size, step, cost, score. Where two scenes are compared, how good this one is stands first: there
/// is little room.
std::vector<std::string> facts_of(const ViewFrame& frame);
/// A picture that leaves something out says so.
std::vector<std::string> what_is_cut(const ViewFrame& frame);
/// Of its map.
std::vector<std::string> statistics_of(const ViewFrame& frame);
/// How near the two scenes' pictures are; empty: it is not known.
std::string nearness_of(const ViewFrame& frame);

/// Why the picture is not of the mode that was asked for, or shows nothing; empty: it does.
std::string what_is_not_shown(const ViewFrame& frame);
/// What of the wishes has no effect on this picture; empty: all have.
std::string what_is_left_out(const Snapshot& snapshot, const ViewFrame& frame);

}  // namespace gs
