// The tiles of one row that a slot covers. project counts with it, emit lists with it.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/tile_cover.h"

namespace gs::cuda {

/// The lowest `n` bits, n of 0 to 32.
GS_DEVICE std::uint32_t low_bits(std::uint32_t n) { return n < 32 ? (1u << n) - 1u : ~0u; }

/// `splat` is read only where neither a whole box nor a mask says it. `wrap`: FrameConstants::wrap;
/// the range goes around the seam then.
GS_DEVICE TileRange row_tiles(const Coverage& c, const Splat& splat, int row, int tiles_x,
                              float wrap) {
    if (c.exact == 0) return {c.x0, c.x1};
    if (c.mask != 0) {
        const std::uint32_t width = static_cast<std::uint32_t>(c.x1 - c.x0);
        const std::uint32_t bits =
            c.mask >> (static_cast<std::uint32_t>(row - c.y0) * width) & low_bits(width);
        const int first = c.x0 + __ffs(static_cast<int>(bits)) - 1;
        return bits == 0 ? TileRange{0, 0} : TileRange{first, first + __popc(bits)};
    }
    return ellipse_row({c.conic_xx, c.conic_xy, c.conic_yy}, c.limit, {splat.x, splat.y},
                       {splat.extent_x, splat.extent_y}, row, tiles_x, wrap);
}

}  // namespace gs::cuda
