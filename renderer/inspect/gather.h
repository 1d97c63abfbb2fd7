// Which Gaussians can show in a part of the picture, and which of them the rasterizers list in a
// tile: in float, as they decide it. Used by PixelWalk.
#pragma once

#include <cstdint>
#include <vector>

#include "renderer/inspect/inspect.h"
#include "renderer/raster/view_setup.h"

namespace gs {

/// Rows, ascending, of all that may show within `rect`, and some more: nothing that could is left
/// out. In parallel; 500,000 Gaussians take some 5 ms.
std::vector<std::uint64_t> rows_near(const GaussianModel& model, const Camera& camera,
                                     const RenderOptions& options, const PixelRect& rect);

/// The lists of tiles, by the arithmetic of the rasterizers (renderer/raster/tile_cover.h).
class TileLists {
  public:
    TileLists(const Camera& camera, const RenderOptions& options);
    /// Whether the tile's list holds Gaussian `i`. Its colour is not looked at: one that is no
    /// number draws nothing.
    bool hold(const GaussianModel& model, std::size_t i, int column, int row) const;

  private:
    CameraConstants camera_;
    RasterRules rules_;
    RenderOptions options_;
    float width_, height_, wrap_;
};

}  // namespace gs
