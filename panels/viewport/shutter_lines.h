// A photo's rolling shutter as lines over its picture: when each row (or column) is read, and how
// far the camera's motion shifts its content. Pure geometry; the viewport's overlays draw it.
#pragma once

#include <string>
#include <vector>

#include "panels/viewport/projection.h"

namespace gs {

/// For a point seen at `to`: its place if all rows had the mid-readout pose.
struct ShutterArrow {
    Pixel from, to;
    double time = 0;  ///< share of the read-out, 0 first to 1 last
};
/// When the row or column through this place of the picture (px) is read.
double shutter_time(const Camera& camera, double x, double y);
/// On a grid over the picture, of points at this distance from the camera (world units); none for
/// a global shutter.
std::vector<ShutterArrow> shutter_arrows(const Camera& camera, double distance);
/// "rows read top-to-bottom; at 3.2 world units this shifts them by 12 px (median), 31 at most".
std::string words_of_shutter(const Camera& camera, const std::vector<ShutterArrow>& arrows,
                             double distance);

}  // namespace gs
