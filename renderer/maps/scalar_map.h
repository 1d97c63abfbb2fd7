// The maps of a drawn frame: the numbers behind the modes depth, median, alpha, contributors,
// isects, pairs and what the tiles cost, for the viewport (view_frame.h) and for `gausscope render
// --maps`.
#pragma once

#include "renderer/maps/view.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

struct ScalarMap {
    ImageF values;          ///< one plane; empty where the mode is none of a frame's own maps
    int cell = 1;           ///< pixels a value stands for, along each side: 1, or the tile size
    const char* unit = "";  ///< "world units", "alpha", "Gaussians", "Gaussians per tile", ...
};
/// `result` holds what the mode needs (want_maps). Depth is the expected depth, sum of weight x
/// depth over alpha, wherever anything was drawn, and NaN elsewhere: there is none. The median is
/// NaN where more than half of the light gets through.
ScalarMap scalar_map(const RenderResult& result, ViewMode mode);

/// Asks the rasterizer for what the mode shows, besides what is asked for already.
void want_maps(ViewMode mode, RenderOptions& options);

}  // namespace gs
