// Bounds are those of the ellipsoid where a Gaussian's alpha falls to the least that counts, seen
// from a tile's place: lines through that place which touch its outline, first seen from above
// (azimuths), then from the side of each bin (slopes). Both are exact for rays from one point;
// where a bin's rays start at several, the ellipsoid is grown by how far they lie apart.
#include "renderer/rays/lists.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/parallel.h"
#include "base/sort.h"
#include "renderer/math/along_ray.h"
#include "renderer/math/scalar.h"
#include "renderer/scene/trajectory.h"

namespace gs {
namespace {

constexpr std::size_t kChunk = 2048;  // Gaussians of a task
constexpr float kMargin = 1e-5f;      // radians and slopes: beyond what float rounds away

/// The grown ellipsoid k^2 Sigma in axes of the frame.
struct Outline {
    Sym3<float> shape;
    float reach;  ///< its longest half axis
};

/// Contains the ellipsoid and a ball of radius `by` added to it.
Sym3<float> grown(const Outline& o, float by) {
    if (by <= 0) return o.shape;
    // (1 + b) A + (1 + 1/b) by^2 I holds their sum for any b > 0.
    const float b = by / std::max(o.reach, 1e-20f), f = 1 + b, g = (1 + 1 / b) * by * by;
    const Sym3<float>& s = o.shape;
    return {f * s.xx + g, f * s.xy, f * s.xz, f * s.yy + g, f * s.yz, f * s.zz + g};
}

/// Slopes z over r of the lines from the origin that touch an ellipse around (r, z).
struct Slopes {
    float low = 0, high = 0;
    enum { none, some, all } which = none;
};
Slopes slopes_of(float r, float z, float rr, float rz, float zz) {
    const float along = r * r - rr;
    if (!(along > 1e-4f * r * r)) return {0, 0, Slopes::all};  // it reaches over r = 0
    if (r < 0) return {};
    const float root2 = z * z * rr - 2 * r * z * rz + r * r * zz - (rr * zz - rz * rz),
                root = std::sqrt(std::max(root2, 0.0f)), middle = r * z - rz;
    return {(middle - root) / along, (middle + root) / along, Slopes::some};
}

/// One Gaussian's way into the lists.
class Placer {
  public:
    Placer(const GaussianModel& model, const RayTiles& tiles, const RasterRules& rules)
        : model_(model), tiles_(tiles), rules_(rules) {
        const Mat3d& r = tiles.frame().rotation;
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k) rotation_.m[i][k] = static_cast<float>(r.m[i][k]);
        place_ = inverse_of(tiles.frame()).translation;
        for (const RayBin& bin : tiles.bins()) lows_.push_back(bin.low);
    }
    /// False where it draws nothing, whatever the ray.
    bool prepare(std::size_t i, RayGaussian& out, Outline& outline) const {
        const float opacity = math::sigmoid(model_.at(kOpacityLogits, i));
        if (!(opacity > rules_.alpha_min)) return false;
        const Vec3f scale{std::exp(model_.at(kLogScales, i)),
                          std::exp(model_.at(kLogScales + 1, i)),
                          std::exp(model_.at(kLogScales + 2, i))};
        const Quatf quat{model_.at(kQuats, i), model_.at(kQuats + 1, i), model_.at(kQuats + 2, i),
                         model_.at(kQuats + 3, i)};
        const Mat3f m = math::whitening(scale, quat);
        float sum = scale.x + scale.y + scale.z;
        for (int k = 0; k < 9; ++k) sum += out.whitening[k] = m.m[k / 3][k % 3];
        if (!std::isfinite(sum)) return false;
        out.mean = model_.mean(i);
        out.log2_opacity = std::log2(opacity);
        out.row = static_cast<std::uint32_t>(i);
        // A little more than 2 ln(opacity / least alpha).
        const float k2 = 2 * std::log(opacity / rules_.alpha_min) * 1.0002f + 1e-4f;
        const Mat3f half_axes = rotation_ * math::quat_to_rotation(quat);
        const float v[3] = {k2 * scale.x * scale.x, k2 * scale.y * scale.y, k2 * scale.z * scale.z};
        const auto entry = [&](int a, int b) {
            float e = 0;
            for (int k = 0; k < 3; ++k) e += v[k] * half_axes.m[a][k] * half_axes.m[b][k];
            return e;
        };
        outline = {{entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)},
                   std::sqrt(std::max({v[0], v[1], v[2]}))};
        return std::isfinite(outline.reach) && outline.reach < 1e18f;
    }
    /// Calls found(tile) for every tile that it may touch.
    template <class Found>
    void place(const RayGaussian& g, const Outline& outline, Found&& found) const {
        const Vec3f p = seen_from(place_, g);
        const Sym3<float> shape = grown(outline, tiles_.spread());
        const float flat = std::sqrt(p.x * p.x + p.y * p.y), c = p.x / flat, s = p.y / flat;
        // Along and across the way to it, from above.
        const Slopes sides =
            slopes_of(flat, 0, c * c * shape.xx + 2 * c * s * shape.xy + s * s * shape.yy,
                      c * s * (shape.yy - shape.xx) + (c * c - s * s) * shape.xy,
                      s * s * shape.xx - 2 * c * s * shape.xy + c * c * shape.yy);
        if (sides.which != Slopes::some) return bins(-4, 4, g, outline, found);
        const float azimuth = std::atan2(p.y, p.x);
        const float low = azimuth + std::atan(sides.low) - kMargin,
                    high = azimuth + std::atan(sides.high) + kMargin;
        constexpr float kTurn = 6.28318531f, kHalf = 3.14159265f;
        bins(low, high, g, outline, found);
        if (low < -kHalf) bins(low + kTurn - kMargin, 4, g, outline, found);
        if (high > kHalf) bins(-4, high - kTurn + kMargin, g, outline, found);
    }

  private:
    Vec3f seen_from(Vec3d place, const RayGaussian& g) const {
        return rotation_ * Vec3f{static_cast<float>(g.mean.x - place.x),
                                 static_cast<float>(g.mean.y - place.y),
                                 static_cast<float>(g.mean.z - place.z)};
    }
    template <class Found>
    void bins(float low, float high, const RayGaussian& g, const Outline& outline,
              Found&& found) const {
        const auto after = std::upper_bound(lows_.begin(), lows_.end(), high);
        auto first = std::upper_bound(lows_.begin(), after, low);
        if (first != lows_.begin()) --first;
        for (auto it = first; it != after; ++it) {
            const RayBin& bin = tiles_.bins()[static_cast<std::size_t>(it - lows_.begin())];
            if (bin.high >= low) in_bin(bin, g, outline, found);
        }
    }
    template <class Found>
    void in_bin(const RayBin& bin, const RayGaussian& g, const Outline& outline,
                Found&& found) const {
        const Vec3f p = seen_from(bin.origin, g);
        const Sym3<float> a = grown(outline, bin.spread);
        // Beyond one of the bin's two planes?
        for (const Vec2<float> n : {bin.inward_low, bin.inward_high}) {
            const float inside = n.x * p.x + n.y * p.y,
                        reach2 = n.x * n.x * a.xx + 2 * n.x * n.y * a.xy + n.y * n.y * a.yy;
            if (inside < 0 && inside * inside > reach2 * 1.0001f) return;
        }
        const float c = bin.ahead.x, s = bin.ahead.y;
        const Slopes slopes =
            slopes_of(c * p.x + s * p.y, p.z, c * c * a.xx + 2 * c * s * a.xy + s * s * a.yy,
                      c * a.xz + s * a.yz, a.zz);
        if (slopes.which == Slopes::none) return;
        const float low = slopes.low - kMargin * (1 + std::abs(slopes.low)),
                    high = slopes.high + kMargin * (1 + std::abs(slopes.high));
        for (std::uint32_t t = bin.first_tile; t < bin.first_tile + bin.tiles; ++t) {
            const RayTile& tile = tiles_.tiles()[t];
            if (slopes.which == Slopes::all || (tile.high >= low && tile.low <= high)) found(t);
        }
    }

    const GaussianModel& model_;
    const RayTiles& tiles_;
    const RasterRules& rules_;
    Mat3f rotation_;
    Vec3d place_;
    std::vector<float> lows_;
};

/// Rows of finite means, front to back.
void sort_rows(const GaussianModel& model, const RayOrder& order, Buffer<std::uint32_t>& rows) {
    Buffer<std::uint32_t> all(model.count), keys;
    parallel_ranges(model.count, 1 << 14, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const Vec3f m = model.mean(i);
            const Vec3d arm = Vec3d{m.x, m.y, m.z} - order.place;
            double depth = order.axis ? dot(*order.axis, arm) : std::sqrt(dot(arm, arm));
            if (order.axis && !(depth > order.near_plane)) depth = std::nan("");
            // Bits of numbers that are not negative stand in their order.
            all.data()[i] = std::isfinite(depth)
                                ? std::bit_cast<std::uint32_t>(static_cast<float>(depth))
                                : ~0u;
        }
    });
    std::size_t n = 0;
    rows.resize_discard(model.count);
    keys.resize_discard(model.count);
    for (std::size_t i = 0; i < model.count; ++i)
        if (all.data()[i] < 0x7F800000u) {
            keys.data()[n] = all.data()[i];
            rows.data()[n++] = static_cast<std::uint32_t>(i);
        }
    rows.resize_discard(n);
    keys.resize_discard(n);
    RadixSort().sort(keys, rows);
}

struct RayPair {
    std::uint32_t tile, gaussian;
};

}  // namespace

RayLists list_gaussians(const GaussianModel& model, const RayTiles& tiles, const RayOrder& order,
                        const RasterRules& rules) {
    Buffer<std::uint32_t> rows;
    sort_rows(model, order, rows);
    const std::size_t n = rows.size(), chunks = (n + kChunk - 1) / kChunk,
                      tile_count = tiles.tiles().size();
    const Placer placer(model, tiles, rules);
    std::vector<std::vector<RayGaussian>> prepared(chunks);
    std::vector<std::vector<RayPair>> pairs(chunks);
    parallel_for(chunks, 1, [&](std::size_t chunk) {
        for (std::size_t i = chunk * kChunk; i < std::min(n, (chunk + 1) * kChunk); ++i) {
            RayGaussian g;
            Outline outline;
            if (!placer.prepare(rows.data()[i], g, outline)) continue;
            const std::size_t before = pairs[chunk].size();
            const auto index = static_cast<std::uint32_t>(prepared[chunk].size());
            placer.place(g, outline, [&](std::uint32_t t) { pairs[chunk].push_back({t, index}); });
            if (pairs[chunk].size() > before) prepared[chunk].push_back(g);
        }
    });
    RayLists out;
    std::vector<std::uint32_t> first(chunks);
    std::vector<std::uint32_t> fill(tile_count + 1);
    for (std::size_t c = 0; c < chunks; ++c) {
        first[c] = static_cast<std::uint32_t>(out.gaussians.size());
        out.gaussians.insert(out.gaussians.end(), prepared[c].begin(), prepared[c].end());
        for (const RayPair pair : pairs[c]) ++fill[pair.tile + 1];
    }
    for (std::size_t t = 0; t < tile_count; ++t) fill[t + 1] += fill[t];
    out.begin = fill;
    out.of_tile.resize_discard(fill[tile_count]);
    for (std::size_t c = 0; c < chunks; ++c)
        for (const RayPair pair : pairs[c])
            out.of_tile.data()[fill[pair.tile]++] = first[c] + pair.gaussian;
    return out;
}

}  // namespace gs
