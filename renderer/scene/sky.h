// Sky: the colour behind all Gaussians, by direction. For scenes outdoors, whose sky no Gaussian
// can be placed for. A part of the model; drawn by renderer/raster/sky.h, learned by
// trainer/adam/sky_step.h.
#pragma once

#include <array>

#include "base/vec.h"

namespace gs {

struct Sky {
    static constexpr int kNumbers = 48;

    int degree = -1;  ///< 0..3; -1: there is none
    /// [basis][red, green, blue] of (degree + 1)^2 bases (math/sh.h), the others 0. The colour in a
    /// direction is max(0, 0.5 + sum of basis x coefficient), as a Gaussian's is.
    std::array<float, kNumbers> sh{};

    bool empty() const { return degree < 0; }
    bool operator==(const Sky&) const = default;
};

}  // namespace gs
