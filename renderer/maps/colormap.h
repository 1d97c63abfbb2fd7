// Colormaps: a value 0..1 to RGB8, and whole maps to pictures. Free of ImGui, so that the app can
// colour the engine's frames. Called by app (frames), the viewport's legend and the tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renderer/maps/view.h"
#include "renderer/scene/image.h"

namespace gs {

struct Rgb8 {
    std::uint8_t r = 0, g = 0, b = 0;
};

/// `t` is clamped to 0..1; NaN gives kNoValueColor.
Rgb8 colormap_color(Colormap map, double t);
inline constexpr Rgb8 kNoValueColor{255, 0, 255};

/// The colour of a level of detail, 0 the finest. Colour-blind people can also distinguish them.
/// Repeats after 8.
Rgb8 color_of_level(std::size_t level);

/// Where `value` lies between lo and hi, 0..1 (not clamped); logarithmic scales start at 1e-6 of hi
/// when lo is not positive. NaN for NaN, and 0 for an empty range.
double colormap_position(double value, double lo, double hi, bool logarithmic);
/// The value at position `t`: the inverse of colormap_position.
double colormap_value(double t, double lo, double hi, bool logarithmic);

struct ColormapRange {
    double lo = 0, hi = 1;
    double min = 0, max = 0, mean = 0, p50 = 0, p95 = 0;  ///< of the finite values
};
/// The range that `settings` asks for over `map` (one plane). Non-finite values are left out; an
/// empty map gives 0..1.
ColormapRange colormap_range(const ImageF& map, const ViewSettings& settings);

/// RGBA picture of `map` (one plane) enlarged by `cell` in both directions and cut to width x
/// height pixels.
Image8 apply_colormap(const ImageF& map, int cell, int width, int height, Colormap colormap,
                      double lo, double hi, bool logarithmic);

}  // namespace gs
