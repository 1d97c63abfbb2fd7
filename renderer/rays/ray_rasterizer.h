// Pictures of cameras, evaluated exactly: each pixel takes the Gaussians as its own ray meets them
// (rays.h), in place of ellipses. Through every lens but the orthographic, and rolling shutters.
// Behind `render --exact`, `eval --exact` and `view.exact`. The oracle is reference/rays.h.
#pragma once

#include <memory>

#include "renderer/raster/rasterizer.h"

namespace gs {

/// On the CPU, forward only: without gradients, counters and costs. Colours, front to back order
/// and near plane are those of splatting, each of the camera's one pose. Nothing is projected:
/// `projection`, `blur` and `antialiased` have no effect. Depths are of the places where rays meet
/// Gaussians, not of the means, in the lens's measure (Camera::depth_of); through a lens that
/// measures distance they are distances along the ray. RenderCounters::isects counts pairs of a
/// tile of rays and a Gaussian. Throws FrameTooLarge.
std::unique_ptr<Rasterizer> make_ray_rasterizer();

}  // namespace gs
