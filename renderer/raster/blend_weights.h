// How much each Gaussian does in pictures: the sum of its blending weights. What merging and
// fitting colours go by (convert --simplify). Source: the importance of
// Mini-Splatting (Fang and Wang 2024).
#pragma once

#include <span>
#include <vector>

#include "base/expected.h"
#include "base/progress.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// By row: the sum over all pixels of all pictures of alpha x the light that reached it; 0 where it
/// is never seen. The same for every number of threads. `rasterizer`: of any backend. Errors:
/// cancelled.
Result<std::vector<double>> blend_weights(Rasterizer& rasterizer, const GaussianModel& model,
                                          std::span<const Camera> cameras,
                                          const Progress& progress = {});

}  // namespace gs
