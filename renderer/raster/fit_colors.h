// Colours of a changed scene, so that its pictures look like another's again: what simplifying
// takes from shapes, colours give back in part. Least squares over all pixels of some pictures;
// shapes and opacities stay.
#pragma once

#include <span>

#include "base/expected.h"
#include "base/progress.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// Changes the harmonics of `model`, all its degrees, towards the pictures that `target` gives from
/// `cameras`: `passes` steps of SIRT (Gilbert 1972), each over all of them, that make the squared
/// difference smaller. Where a picture shows nothing of a row, it stays. Errors: cancelled; `model`
/// may be changed then.
Result<void> fit_colors(Rasterizer& rasterizer, const GaussianModel& target, GaussianModel& model,
                        std::span<const Camera> cameras, int passes, const Progress& progress = {});

}  // namespace gs
