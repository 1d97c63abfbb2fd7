// Bounds are those of the ellipsoid where a Gaussian's alpha falls to the least that counts, seen
// from a tile's place: lines through that place which touch its outline, first seen from above
// (azimuths), then from the side of each bin (slopes). Both are exact for rays from one point;
// where a bin's rays start at several, the ellipsoid is grown by how far they lie apart.
#include "renderer/rays/lists.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "renderer/math/along_ray.h"
#include "renderer/math/scalar.h"
#include "renderer/scene/trajectory.h"

namespace gs {
namespace {

constexpr float kMargin = 2e-5f;      // quarter turns and slopes: beyond what float rounds away
constexpr float kMostSigmas = 3.34f;  // where an opacity of 1 has fallen below the least alpha

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
        float covered = 0;
        for (const RayBin& bin : tiles.bins()) {
            lows_.push_back(bin.low);
            covered += bin.high - bin.low;
        }
        gaps_ = covered < 2;
        // Outside of all tiles' slopes, as planes through the axis of the frame.
        float low = 1e30f, high = -1e30f;
        for (const RayTile& tile : tiles.tiles()) {
            low = std::min(low, tile.low);
            high = std::max(high, tile.high);
        }
        for (const auto& [slope, side] : {std::pair{low, -1.0f}, std::pair{high, 1.0f}}) {
            const float length = side / std::sqrt(1 + slope * slope);
            outward_.push_back({-slope * length, length});
        }
    }
    /// True where it is plain that no ray comes near: it lies above or below all of them, or
    /// between bins, where those leave out half of the turn or more.
    bool beyond(std::size_t i) const {
        RayGaussian g{.mean = model_.mean(i)};
        const Vec3f p = seen_from(place_, g);
        const float r = std::sqrt(p.x * p.x + p.y * p.y),
                    largest = std::max({model_.at(kLogScales, i), model_.at(kLogScales + 1, i),
                                        model_.at(kLogScales + 2, i)}),
                    reach = kMostSigmas * std::exp(largest) + tiles_.spread();
        for (const Vec2<float> n : outward_)
            if (n.x * r + n.y * p.z > reach * 1.001f + kMargin * r) return true;
        return gaps_ && r > 1.001f * reach && between_bins(p, 1.001f * reach / r);
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
        out.reach = outline.reach;
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
        const float low = quarter_turns({c - s * sides.low, s + c * sides.low}) - kMargin,
                    high = quarter_turns({c - s * sides.high, s + c * sides.high}) + kMargin;
        if (low <= high) return bins(low, high, g, outline, found);
        bins(low, 4, g, outline, found);  // over the seam
        bins(-4, high, g, outline, found);
    }

  private:
    /// What is seen there, with this sine of half its angle from above.
    bool between_bins(Vec3f p, float sine) const {
        const float cosine = std::sqrt(1 - sine * sine),
                    low = quarter_turns({cosine * p.x + sine * p.y, cosine * p.y - sine * p.x}),
                    high = quarter_turns({cosine * p.x - sine * p.y, cosine * p.y + sine * p.x});
        if (low > high) return false;  // over the seam
        const auto after = std::upper_bound(lows_.begin(), lows_.end(), high + kMargin);
        if (after == lows_.begin()) return true;
        const auto last = static_cast<std::size_t>(after - lows_.begin()) - 1;
        return tiles_.bins()[last].high < low - kMargin;
    }
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
    bool gaps_ = false;                 ///< bins leave out half of the turn or more
    std::vector<Vec2<float>> outward_;  ///< normals, r and z
};

/// NaN: not drawn.
float depth_of(const GaussianModel& model, std::size_t i, const RayOrder& order) {
    const Vec3f m = model.mean(i);
    const Vec3d arm = Vec3d{m.x, m.y, m.z} - order.place;
    const double depth = order.axis ? dot(*order.axis, arm) : std::sqrt(dot(arm, arm));
    if (order.axis && !(depth > order.near_plane)) return std::nanf("");
    return static_cast<float>(depth);
}

struct RayPair {
    std::uint32_t tile, gaussian;
};

}  // namespace

void copy_geometry(ParameterSource& source, GaussianModel& out) {
    if (out.count != source.count()) out = GaussianModel(source.count(), 0);
    parallel_for(out.blocks(), 64, [&](std::size_t block) {
        alignas(64) float scratch[kGeometryPlanes * kBlock];
        const BlockView view = source.geometry(block, scratch);
        for (int p = 0; p < kGeometryPlanes; ++p)
            std::copy_n(view.planes + static_cast<std::size_t>(p) * view.stride, kBlock,
                        out.plane(p) + block * kBlock);
    });
}

RayLists list_gaussians(const GaussianModel& model, const RayTiles& tiles, const RayOrder& order,
                        const RasterRules& rules) {
    const std::size_t n = model.count, chunks = (n + kListChunk - 1) / kListChunk,
                      tile_count = tiles.tiles().size();
    const Placer placer(model, tiles, rules);
    RayLists out;
    out.chunks.resize(chunks);
    std::vector<std::vector<RayPair>> pairs(chunks);
    parallel_for(chunks, 1, [&](std::size_t chunk) {
        std::vector<RayGaussian>& prepared = out.chunks[chunk];
        for (std::size_t i = chunk * kListChunk; i < std::min(n, (chunk + 1) * kListChunk); ++i) {
            RayGaussian g;
            Outline outline;
            g.depth = depth_of(model, i, order);
            if (!std::isfinite(g.depth) || placer.beyond(i) || !placer.prepare(i, g, outline))
                continue;
            const std::size_t before = pairs[chunk].size();
            const auto index = static_cast<std::uint32_t>(chunk * kListChunk + prepared.size());
            placer.place(g, outline, [&](std::uint32_t t) { pairs[chunk].push_back({t, index}); });
            if (pairs[chunk].size() > before) prepared.push_back(g);
        }
    });
    std::vector<std::uint32_t> fill(tile_count + 1);
    for (std::size_t c = 0; c < chunks; ++c) {
        out.visible += out.chunks[c].size();
        for (const RayPair pair : pairs[c]) ++fill[pair.tile + 1];
    }
    for (std::size_t t = 0; t < tile_count; ++t) fill[t + 1] += fill[t];
    out.begin = fill;
    out.of_tile.resize_discard(fill[tile_count]);
    for (const auto& of_chunk : pairs)
        for (const RayPair pair : of_chunk) out.of_tile.data()[fill[pair.tile]++] = pair.gaussian;
    return out;
}

}  // namespace gs
