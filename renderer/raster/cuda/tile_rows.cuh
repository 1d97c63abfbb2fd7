// The tiles of one row that a slot covers. project counts with it, emit lists with it.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/tile_cover.h"

namespace gs::cuda {

GS_DEVICE TileRange row_tiles(const Coverage& c, const Splat& s, int row, int tiles_x) {
    if (c.exact == 0) return {c.x0, c.x1};
    return ellipse_row({c.conic_xx, c.conic_xy, c.conic_yy}, c.limit, {s.x, s.y},
                       {s.extent_x, s.extent_y}, row, tiles_x);
}

}  // namespace gs::cuda
