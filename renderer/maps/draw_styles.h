// Points, ellipsoids, rings and centres: the model's Gaussians drawn as what they are, not as the
// picture they make. Plain software drawing, parallel over bands of rows. Called by the engine when
// the viewport asks for these styles. Fainter Gaussians than 2 % are left out.
#pragma once

#include "renderer/maps/view.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// Fills color, alpha and depth of `result` (other maps stay empty), the nearest Gaussian in front.
/// Points: a square of `point_px` pixels per mean in its base colour. Ellipsoids: opaque, shaded,
/// with a bright outline at `options.scale_modifier` standard deviations. Of `options` also
/// background, near plane and clip box count.
void draw_model_as(DrawStyle style, const GaussianModel& model, const Camera& camera,
                   const RenderOptions& options, float point_px, RenderResult& result);

/// Draws into result.color, which holds the picture of the splats with the same options. Rings:
/// what was there fades towards the background, and each Gaussian's ellipse is outlined in its base
/// colour at `options.scale_modifier` standard deviations, the fainter the Gaussian, the more
/// translucent; far ones first. Centres: a square of `point_px` pixels per mean in black or white,
/// whichever is seen on the Gaussian's own colour.
void draw_over_splats(DrawStyle style, const GaussianModel& model, const Camera& camera,
                      const RenderOptions& options, float point_px, RenderResult& result);

}  // namespace gs
