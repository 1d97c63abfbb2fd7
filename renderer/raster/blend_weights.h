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

inline constexpr std::size_t kMostWeighed = 200;
inline constexpr int kWeighedSide = 800;  ///< pixels
/// Enough to show which Gaussians matter: at most kMostWeighed of the cameras, evenly spread, with
/// longest sides of kWeighedSide at most.
std::vector<Camera> cameras_to_weigh(std::span<const Camera> cameras);
/// How a model is drawn by itself: its own antialiasing and near plane, without depth.
RenderOptions plain_options(const GaussianModel& model);

/// By row: the sum over all pixels of all pictures of alpha x the light that reached it; 0 where it
/// is never seen. The same for every number of threads. `rasterizer`: of any backend.
/// `options`: as it is to be drawn. Errors: cancelled.
Result<std::vector<double>> blend_weights(Rasterizer& rasterizer, const GaussianModel& model,
                                          std::span<const Camera> cameras,
                                          const RenderOptions& options,
                                          const Progress& progress = {});

}  // namespace gs
