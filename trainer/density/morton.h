// Morton order: rows sorted along a space-filling curve, so that blocks of 16 consecutive Gaussians
// lie close together. Block culling, visibility masks and cache use depend on it. Used at
// initialisation and after density control.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/vec.h"

namespace gs {

/// row_from_rank: rows of `positions` by their 63-bit code within the finite ones' bounds, equal
/// codes by row. Positions that are not finite come last.
std::vector<std::uint32_t> morton_order(std::span<const Vec3f> positions);

}  // namespace gs
