// Tool: the left mouse button's action in the viewport's picture, and each tool's settings. Owned
// by StudioState, changed by commands ("tool rectangle"), shown as chips in the viewport's toolbar.
// Every tool but navigate takes left drags; the other buttons still steer.
#pragma once

#include <array>

#include "base/vec.h"

namespace gs {

enum class Tool {
    navigate,
    rectangle,
    lasso,
    brush,
    sphere,
    box,
    move,
    rotate,
    scale,
    distance,
    region
};
inline constexpr std::array<const char*, 11> kToolNames{"navigate", "rectangle", "lasso", "brush",
                                                        "sphere",   "box",       "move",  "rotate",
                                                        "scale",    "distance",  "region"};

struct ToolState {
    Tool tool = Tool::navigate;
    bool only_seen = false;  ///< screen shapes ignore Gaussians behind surfaces
    double brush = 20;       ///< radius of the brush, px of the screen at a display scale of 1
    double reach = 3;        ///< of neighbours, in sizes (renderer/edit/neighbours.h)
    // ---- volumes in the world, lines and handles over the picture while their tool is on
    Vec3d centre{};     ///< of the sphere, world
    double radius = 0;  ///< of the sphere, world units; 0: not placed yet
    Vec3d lo{}, hi{};   ///< corners of the box, world; equal: not placed yet
};

}  // namespace gs
