// Morton order: rows sorted along a space-filling curve, so that blocks of 16 consecutive Gaussians
// lie close together. Block culling, visibility masks and cache use depend on it. Used at
// initialisation and after density control.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/exchange.h"
#include "base/vec.h"

namespace gs {

/// The 63-bit codes of `positions` within the bounds of all ranks' finite ones. Positions that are
/// not finite have the highest.
std::vector<std::uint64_t> morton_codes(std::span<const Vec3f> positions,
                                        Exchange& ranks = one_process());
/// row_from_rank: rows of `positions` by their 63-bit code within the finite ones' bounds, equal
/// codes by row. Positions that are not finite come last.
std::vector<std::uint32_t> morton_order(std::span<const Vec3f> positions);

}  // namespace gs
