// Normals of what a picture shows, from its depth: the world positions of the pixels around one
// give the surface's orientation. Backend independent; for mode normals of the viewport and for
// `gausscope render --maps normals`.
#pragma once

#include "renderer/maps/colormap.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/camera.h"

namespace gs {

/// Three planes: x, y, z of a unit vector in the world that points to the camera's side of the
/// surface. NaN where more than half of the light gets through, or where too few pixels around lie
/// on the same surface. A plane is laid through the median depths around each pixel, as far as the
/// depth does not jump: the median is the depth of one Gaussian's centre, so it runs in small
/// steps, but it does not mix front and back. `result` holds the median depth as drawn with
/// `camera` (want_maps).
ImageF normals_of(const RenderResult& result, const Camera& camera);

/// RGB = 0.5 + 0.5 n as RGBA8, alpha 255; `empty` where there is none.
Image8 normals_picture(const ImageF& normals, Rgb8 empty);

}  // namespace gs
