// What trace.cpp hands to its vector code, which is compiled once an instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/vec.h"

namespace gs::cpu {

/// A Gaussian as the rays of one tile meet it: see the top of trace.cpp.
struct MetGaussian {
    float whitening[9];
    float arm[3];   ///< M (o + L d - mean)
    float step[3];  ///< M d
    float along;    ///< L
    float log2_opacity;
    Vec3f signal;
    Vec3f offset;           ///< o + L d - mean, world
    float reach;            ///< farther from its mean no ray sees it
    std::uint32_t vectors;  ///< bit: vector of 16 rays that may come so near
};
inline constexpr std::size_t kTileVectors = 8;
/// The rays of one tile. Planes of directions and origins lie `stride` apart, those of the state
/// `slots`: floor (least log2 alpha that counts), transmittance, hit, median, signal x y z.
struct TileRays {
    std::size_t slots, stride;
    const float *directions, *origins;
    float* state;
    bool parted, signals;
};

}  // namespace gs::cpu
