// Colours for points that come without: from the photos that show them. Called by load_capture.
#pragma once

#include "renderer/io/captures/capture_source.h"

namespace gs {

/// False where the files give no colours, or all points the same grey, black or white.
bool has_colors(const CaptureSource& source, const std::vector<SparsePoint>& points);
/// Each point gets the median of its pixels in the training photos nearest to it, and a note says
/// how many did. Points that no photo shows get the median of the others.
void color_points_from_photos(Capture& capture);

}  // namespace gs
