// Level colours: a streamed set drawn with each Gaussian in the colour of its level, so that it is
// seen which regions are coarse. A copy of the model, its colours tinted; the model itself is never
// touched. The viewer makes it when it is asked for, and lets go of it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "renderer/raster/rasterizer.h"

namespace gs {

/// Consecutive rows of a gathered model that are of one level, up to row `end`.
struct LevelRun {
    std::size_t end = 0;
    std::size_t level = 0;
};
/// The level of what belongs to every level.
inline constexpr std::size_t kEveryLevel = ~std::size_t{0};

/// `model` without view dependence (SH degree 0), each Gaussian in the colour of its level
/// (color_of_level() of renderer/maps/colormap.h), as bright as it was. What is of every level, and
/// rows behind the last run, keep their base colour.
GaussianModel tinted_by_level(const GaussianModel& model, std::span<const LevelRun> runs);

/// The tinted model as a rasterizer reads it.
struct LevelColors {
    LevelColors(const GaussianModel& model, std::span<const LevelRun> runs, Rasterizer& rasterizer,
                std::span<const BlockBounds> bounds)
        : tinted(tinted_by_level(model, runs)), source(rasterizer.source_of(tinted, bounds)) {}
    GaussianModel tinted;
    std::unique_ptr<ParameterSource> source;
};

}  // namespace gs
