// What lies at places of a picture: points of the world, depth, colour. Each question draws a
// picture of its own (viewer.h). Asked by the editor and the place finder.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "app/session/viewer.h"

namespace gs {

/// The world point at this place of the picture (fractions of its width and height), if any.
std::optional<Vec3d> point_at(Viewer& viewer, const Shown& shown, ViewRequest request, double x,
                              double y);
/// World points at places of the picture: where half of the light has been stopped, else at the
/// mean depth of what is drawn there. As many as come before the first place without anything.
std::vector<Vec3d> points_at(Viewer& viewer, const Shown& shown, ViewRequest request,
                             const std::vector<std::array<double, 2>>& places);
/// Median depth, half as large as the picture (ViewFrame::map; NaN where nothing stops half of the
/// light).
std::shared_ptr<const ViewFrame> median_depth(Viewer& viewer, const Shown& shown,
                                              ViewRequest request);
/// The colour at this place of the picture (fractions of its width and height), 0..1 each.
Vec3f color_at(Viewer& viewer, const Shown& shown, ViewRequest request, double x, double y);

}  // namespace gs
