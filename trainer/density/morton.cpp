#include "trainer/density/morton.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "trainer/density/morton_code.h"

namespace gs {

std::vector<std::uint32_t> morton_order(std::span<const Vec3f> positions) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double lo[3] = {kInfinity, kInfinity, kInfinity}, hi[3] = {-kInfinity, -kInfinity, -kInfinity};
    for (const Vec3f& p : positions) {
        if (!finite_position(p)) continue;
        const double at[3] = {p.x, p.y, p.z};
        for (int axis = 0; axis < 3; ++axis) {
            lo[axis] = std::min(lo[axis], at[axis]);
            hi[axis] = std::max(hi[axis], at[axis]);
        }
    }
    const MortonGrid grid = morton_grid(lo, hi);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> codes(positions.size());
    parallel_for(positions.size(), 4096, [&](std::size_t i) {
        codes[i] = {morton_code(positions[i], grid), static_cast<std::uint32_t>(i)};
    });
    std::sort(codes.begin(), codes.end());
    std::vector<std::uint32_t> row_from_rank(positions.size());
    for (std::size_t i = 0; i < codes.size(); ++i) row_from_rank[i] = codes[i].second;
    return row_from_rank;
}

}  // namespace gs
