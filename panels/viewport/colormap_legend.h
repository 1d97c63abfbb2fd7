// The legend of a colormap: a bar with ticks, values and unit, drawn over a picture. Called by the
// viewport.
#pragma once

#include <imgui.h>

#include <string_view>

#include "panels/state/snapshot.h"

namespace gs {

/// How wide it is.
float colormap_legend_width(float height, double lo, double hi, bool logarithmic,
                            std::string_view unit);
/// Draws it with its top right corner at `corner`, `height` pixels high; `mark`: a value pointed
/// at, NaN for none.
void draw_colormap_legend(ImDrawList& list, ImVec2 corner, float height, Colormap map, double lo,
                          double hi, bool logarithmic, std::string_view unit, double mark);

/// Which colour is which level of detail, and how many Gaussians of it are drawn; `corner`: its top
/// right. Returns its size.
ImVec2 draw_level_legend(ImDrawList& list, ImVec2 corner, const LevelsState& levels);

}  // namespace gs
