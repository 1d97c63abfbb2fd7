// A set of levels that is as large as one likes: a scene, side by side many times. To try and to
// measure how large sets are viewed; called by `gausscope sample big/lod-meta.json --of SCENE`.
#pragma once

#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// Gaussians of all tiles together at the coarsest level, at most: what a set opens with.
inline constexpr std::size_t kCoarsestOfTiles = 500'000;

/// `tiles` times `tiles` copies of the middle of `scene`, nine tenths along each axis, without
/// directional colours, side by side over the two longest axes. Each copy is moved by up to a
/// twentieth of its size, and is brighter or darker by up to a quarter, by `seed`. One copy at a
/// time is in memory, beside the files that are not full yet (512 Ki Gaussians a level). Errors: of
/// LevelSetWriter; usage (no Gaussian).
Result<SplatNotes> write_tiled_levels(const fs::path& lod_meta, const GaussianModel& scene,
                                      int tiles, std::uint64_t seed, const Progress& progress);

}  // namespace gs
