// The Morton code of a position, on host and device: 21 bits an axis, in cubes that divide the
// bounds of all positions. morton.cpp and cuda/density.cu sort by it.
#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "base/vec.h"

namespace gs {

/// Bounds of the finite positions, turned into cells. One scale for all axes: cells are cubes.
struct MortonGrid {
    double lo[3];
    double cells;  ///< per world unit
};
GS_HD inline MortonGrid morton_grid(const double (&lo)[3], const double (&hi)[3]) {
    double side = 1e-30;
    for (int axis = 0; axis < 3; ++axis)
        side = hi[axis] - lo[axis] > side ? hi[axis] - lo[axis] : side;
    return {{lo[0], lo[1], lo[2]}, 2097151.0 / side};
}

/// Spreads the lower 21 bits so that two zero bits follow each.
GS_HD inline std::uint64_t spread_bits(std::uint64_t x) {
    x &= 0x1fffff;
    x = (x | x << 32) & 0x1f00000000ffffull;
    x = (x | x << 16) & 0x1f0000ff0000ffull;
    x = (x | x << 8) & 0x100f00f00f00f00full;
    x = (x | x << 4) & 0x10c30c30c30c30c3ull;
    return (x | x << 2) & 0x1249249249249249ull;
}

/// False for NaN and infinity.
GS_HD inline bool finite_position(Vec3f p) {
    return 0.0f * p.x == 0.0f && 0.0f * p.y == 0.0f && 0.0f * p.z == 0.0f;
}

/// Positions that are not finite come last.
GS_HD inline std::uint64_t morton_code(Vec3f p, const MortonGrid& grid) {
    if (!finite_position(p)) return ~0ull;
    const auto cell = [&](float value, int axis) {
        return static_cast<std::uint64_t>((static_cast<double>(value) - grid.lo[axis]) *
                                          grid.cells);
    };
    return spread_bits(cell(p.x, 0)) | spread_bits(cell(p.y, 1)) << 1 |
           spread_bits(cell(p.z, 2)) << 2;
}

}  // namespace gs
