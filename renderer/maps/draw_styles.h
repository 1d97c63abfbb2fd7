// Points and ellipsoids: the model's Gaussians drawn as what they are, not as the picture they
// make. Plain software drawing with a depth buffer, parallel over bands of rows. Called by the
// engine when the viewport asks for these styles.
#pragma once

#include "renderer/maps/view.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// Fills color, alpha and depth of `result` (other maps stay empty). Points: a square of 2-3 px per
/// mean in its base colour. Ellipsoids: opaque, shaded, with a bright outline at
/// `options.scale_modifier` standard deviations. Fainter Gaussians than 2 % are left out. Of
/// `options` also background, near plane and clip box count.
void draw_model_as(DrawStyle style, const GaussianModel& model, const Camera& camera,
                   const RenderOptions& options, RenderResult& result);

}  // namespace gs
