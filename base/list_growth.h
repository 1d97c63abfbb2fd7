// How a frame's lists of (Gaussian, tile) pairs grow with a scene's Gaussians, the one power that
// forecasts of memory and of time go by (docs/model.md), and how long they get at most.
#pragma once

#include <cmath>
#include <cstdint>

namespace gs {

/// Pairs that the CUDA backend lists at once; a frame with more is drawn in groups of tiles.
inline constexpr std::uint32_t kMostListed = (1u << 30) - 1;

/// Pairs after over before, for `ratio` times the Gaussians: more of them are smaller ones.
inline double list_growth(double ratio) { return std::pow(ratio, 0.7); }

}  // namespace gs
