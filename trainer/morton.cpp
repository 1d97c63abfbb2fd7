#include "trainer/morton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "renderer/device/parallel.h"

namespace gs {
namespace {

/// Spreads the lower 21 bits so that two zero bits follow each.
std::uint64_t spread(std::uint64_t x) {
    x &= 0x1fffff;
    x = (x | x << 32) & 0x1f00000000ffffull;
    x = (x | x << 16) & 0x1f0000ff0000ffull;
    x = (x | x << 8) & 0x100f00f00f00f00full;
    x = (x | x << 4) & 0x10c30c30c30c30c3ull;
    return (x | x << 2) & 0x1249249249249249ull;
}

bool finite(Vec3f p) { return std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.z); }

}  // namespace

std::vector<std::uint32_t> morton_order(std::span<const Vec3f> positions) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double lo[3] = {kInfinity, kInfinity, kInfinity}, hi[3] = {-kInfinity, -kInfinity, -kInfinity};
    for (const Vec3f& p : positions) {
        if (!finite(p)) continue;
        const double at[3] = {p.x, p.y, p.z};
        for (int axis = 0; axis < 3; ++axis) {
            lo[axis] = std::min(lo[axis], at[axis]);
            hi[axis] = std::max(hi[axis], at[axis]);
        }
    }
    // One scale for all axes: cells are cubes.
    const double side = std::max({hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2], 1e-30});
    const double cells = 2097151.0 / side;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> codes(positions.size());
    parallel_for(positions.size(), 4096, [&](std::size_t i) {
        const Vec3f p = positions[i];
        std::uint64_t code = ~0ull;
        if (finite(p)) {
            const auto cell = [&](double value, int axis) {
                return static_cast<std::uint64_t>((value - lo[axis]) * cells);
            };
            code = spread(cell(p.x, 0)) | spread(cell(p.y, 1)) << 1 | spread(cell(p.z, 2)) << 2;
        }
        codes[i] = {code, static_cast<std::uint32_t>(i)};
    });
    std::sort(codes.begin(), codes.end());
    std::vector<std::uint32_t> row_from_rank(positions.size());
    for (std::size_t i = 0; i < codes.size(); ++i) row_from_rank[i] = codes[i].second;
    return row_from_rank;
}

}  // namespace gs
