#include "trainer/density/morton.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "trainer/density/morton_code.h"

namespace gs {

std::vector<std::uint64_t> morton_codes(std::span<const Vec3f> positions, Exchange& ranks) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    struct Bounds {
        double lo[3] = {kInfinity, kInfinity, kInfinity},
               hi[3] = {-kInfinity, -kInfinity, -kInfinity};
    } own, all;
    for (const Vec3f& p : positions) {
        if (!finite_position(p)) continue;
        const double at[3] = {p.x, p.y, p.z};
        for (int axis = 0; axis < 3; ++axis) {
            own.lo[axis] = std::min(own.lo[axis], at[axis]);
            own.hi[axis] = std::max(own.hi[axis], at[axis]);
        }
    }
    for (const Bounds& of : of_each(ranks, own))
        for (int axis = 0; axis < 3; ++axis) {
            all.lo[axis] = std::min(all.lo[axis], of.lo[axis]);
            all.hi[axis] = std::max(all.hi[axis], of.hi[axis]);
        }
    const MortonGrid grid = morton_grid(all.lo, all.hi);
    std::vector<std::uint64_t> codes(positions.size());
    parallel_for(positions.size(), 4096,
                 [&](std::size_t i) { codes[i] = morton_code(positions[i], grid); });
    return codes;
}

std::vector<std::uint32_t> morton_order(std::span<const Vec3f> positions) {
    const std::vector<std::uint64_t> codes = morton_codes(positions);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted(codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i)
        sorted[i] = {codes[i], static_cast<std::uint32_t>(i)};
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint32_t> row_from_rank(sorted.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) row_from_rank[i] = sorted[i].second;
    return row_from_rank;
}

}  // namespace gs
