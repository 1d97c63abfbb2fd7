// Draws a region's levels of detail and compares their pictures. Called as sets of levels are
// written (app/backend/write_scene.h).
#pragma once

#include <span>
#include <vector>

#include "renderer/raster/rasterizer.h"

namespace gs {

inline constexpr int kErrorSide = 64;  ///< pixels

/// By level of a region, `levels` finest first: the squared difference from the finest level's
/// pictures over their squares. Summed over red, green, blue (premultiplied) and alpha, 0 to 1, of
/// pictures from six sides, kErrorSide squared. 0 for the finest, and never less than the next
/// finer level's. Where the finest is invisible, 0 or 1. `lo`, `hi`: the region's box; all 0 where
/// that has no size. Source: "errors" of lod-meta.json as splat-transform 3.7.0 writes them.
std::vector<double> measure_levels(Rasterizer& rasterizer, std::span<const GaussianModel> levels,
                                   Vec3d lo, Vec3d hi);

}  // namespace gs
