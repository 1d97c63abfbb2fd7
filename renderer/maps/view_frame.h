// From what the rasterizer drew to what the viewport shows: the chosen map, its statistics, the
// colormap, the photo beside it. Called by the engine for view frames and pictures.
#pragma once

#include "renderer/maps/view.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// Fills frame.rgba, map, map_cell, range, statistics and unit from `result`. `photo`: RGB of the
/// picture's size, or empty; frame.psnr is measured against it. Mode `error` without a photo shows
/// colour.
void fill_view_frame(const RenderResult& result, const ViewSettings& settings, const Image8& photo,
                     ViewFrame& frame);

/// The same for two scenes drawn from one camera: maps share their range, mode `error` shows
/// `result` against `other_result`, and psnr_between is measured.
void fill_compared_frames(const RenderResult& result, const RenderResult& other_result,
                          const ViewSettings& settings, const Image8& photo, ViewFrame& frame,
                          ViewFrame& other);

/// From now on maps are coloured over the range that this picture has, so that colours mean the
/// same all through a film.
void keep_range(const ViewFrame& first, ViewSettings& settings);

}  // namespace gs
