// ScreenMask: a shape that was drawn over a picture, as the pixels it covers; every way to select
// on the screen makes one, and one question (questions.h) finds the Gaussians whose centres fall on
// it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/vec.h"

namespace gs {

struct ScreenMask {
    int width = 0, height = 0;         ///< of the picture, px
    std::vector<std::uint8_t> pixels;  ///< [height][width], 1 or 0

    ScreenMask(int w, int h)
        : width(w),
          height(h),
          pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), 0) {}
    bool at(int x, int y) const {
        return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                      static_cast<std::size_t>(x)] != 0;
    }
};

/// A point of the picture, px from its upper left corner.
using ScreenPoint = Vec2<double>;

/// Pixels whose centres lie between two opposite corners, and the pixel of each corner.
ScreenMask rectangle_mask(int width, int height, ScreenPoint a, ScreenPoint b);
/// Pixels whose centres lie inside the closed line through `corners`, by the even-odd rule. Fewer
/// than three: none.
ScreenMask polygon_mask(int width, int height, std::span<const ScreenPoint> corners);
/// Pixels whose centres lie within `radius` px of the line through `path`; the pixel of a path of
/// one point always.
ScreenMask brush_mask(int width, int height, std::span<const ScreenPoint> path, double radius);

}  // namespace gs
