// How a frame's lists of (Gaussian, tile) pairs grow with a scene's Gaussians: the one power that
// forecasts of memory and of time go by (docs/model.md).
#pragma once

#include <cmath>

namespace gs {

/// Pairs after over before, for `ratio` times the Gaussians: more of them are smaller ones.
inline double list_growth(double ratio) { return std::pow(ratio, 0.7); }

}  // namespace gs
