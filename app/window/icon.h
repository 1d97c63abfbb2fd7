// The window's icon: three overlapping Gaussians, computed rather than stored. Used by the GLFW
// window.
#pragma once

#include <cstdint>
#include <vector>

namespace gs {

struct IconPixels {
    int size = 0;
    std::vector<std::uint8_t> rgba;  ///< [size][size][4]
};
IconPixels window_icon(int size = 64);

}  // namespace gs
