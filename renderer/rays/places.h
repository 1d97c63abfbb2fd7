// Which tiles of rays a Gaussian may touch, by the same arithmetic on the CPU (lists.cpp) and on a
// device (trainer/cuda/beams.cu).
//
// Bounds are those of the ellipsoid where a Gaussian's alpha falls to the least that counts, seen
// from a tile's place: lines through that place which touch its outline, first seen from above
// (azimuths), then from the side of each bin (slopes). Both are exact for rays from one point;
// where a bin's rays start at several, the ellipsoid is grown by how far they lie apart.
#pragma once

#include <cfloat>

#include "renderer/math/along_ray.h"
#include "renderer/rays/rays.h"

namespace gs {

/// The ellipsoid k^2 Sigma in axes of the frame.
struct RayOutline {
    Sym3<float> shape;
    float reach;  ///< its longest half axis
};

/// A RayTiles as placing reads it, in the memory of the processor that does.
struct RayPlaces {
    static constexpr float kMargin = 2e-5f;  ///< quarter turns and slopes: beyond what float rounds
    static constexpr float kMostSigmas = 3.34f;  ///< where an opacity of 1 is below the least alpha

    Mat3f rotation;            ///< frame from world
    Vec3d place;               ///< the frame's, world
    float spread = 0;          ///< RayTiles::spread()
    Vec2<float> outward[2]{};  ///< below and above all tiles: normals r and z through the place
    const RayBin* bins = nullptr;
    const RayTile* tiles = nullptr;
    std::uint32_t bin_count = 0;
    bool gaps = false;  ///< bins leave out half of the turn or more

    RayPlaces() = default;
    /// Of `rays`, which must stay as they are.
    explicit RayPlaces(const RayTiles& rays);

    /// True where it is plain that no ray comes near: it lies above or below all of them, or
    /// between bins, where those leave out half of the turn or more. `largest`: standard deviation.
    GS_HD bool beyond(Vec3f mean, float largest) const {
        const Vec3f p = seen_from(place, mean);
        const float r = math::sqrt(p.x * p.x + p.y * p.y), reach = kMostSigmas * largest + spread;
        for (const Vec2<float> n : outward)
            if (n.x * r + n.y * p.z > reach * 1.001f + kMargin * r) return true;
        return gaps && r > 1.001f * reach && between_bins(p, 1.001f * reach / r);
    }
    /// False where it draws nothing, whatever the ray. `m`: its whitening.
    GS_HD bool outline(Vec3f scale, Quatf quat, const Mat3f& m, float opacity, float alpha_min,
                       RayOutline& out) const {
        if (!(opacity > alpha_min)) return false;
        float sum = scale.x + scale.y + scale.z;
        for (int k = 0; k < 9; ++k) sum += m.m[k / 3][k % 3];
        if (!(::fabsf(sum) <= FLT_MAX)) return false;
        // A little more than 2 ln(opacity / least alpha).
        const float k2 = 2 * math::log(opacity / alpha_min) * 1.0002f + 1e-4f;
        const Mat3f half_axes = rotation * math::quat_to_rotation(quat);
        const float v[3] = {k2 * scale.x * scale.x, k2 * scale.y * scale.y, k2 * scale.z * scale.z};
        const auto entry = [&](int a, int b) {
            float e = 0;
            for (int k = 0; k < 3; ++k) e += v[k] * half_axes.m[a][k] * half_axes.m[b][k];
            return e;
        };
        out.shape = {entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)};
        out.reach = math::sqrt(math::max(math::max(v[0], v[1]), v[2]));
        return out.reach < 1e18f;
    }
    /// Calls found(tile) for every tile that it may touch.
    template <class Found>
    GS_HD void place_in(Vec3f mean, const RayOutline& o, Found&& found) const {
        const Vec3f p = seen_from(place, mean);
        const Sym3<float> shape = grown(o, spread);
        const float flat = math::sqrt(p.x * p.x + p.y * p.y), c = p.x / flat, s = p.y / flat;
        // Along and across the way to it, from above.
        const Slopes sides =
            slopes_of(flat, 0, c * c * shape.xx + 2 * c * s * shape.xy + s * s * shape.yy,
                      c * s * (shape.yy - shape.xx) + (c * c - s * s) * shape.xy,
                      s * s * shape.xx - 2 * c * s * shape.xy + c * c * shape.yy);
        float low = -4, high = 4;
        if (sides.which == Slopes::some) {
            low = quarter_turns({c - s * sides.low, s + c * sides.low}) - kMargin;
            high = quarter_turns({c - s * sides.high, s + c * sides.high}) + kMargin;
        }
        const bool over_seam = low > high;
        for (int part = 0; part < (over_seam ? 2 : 1); ++part)
            in_bins(part == 0 ? low : -4.0f, over_seam && part == 0 ? 4.0f : high, mean, o, found);
    }

  private:
    /// Slopes z over r of the lines from the origin that touch an ellipse around (r, z).
    struct Slopes {
        float low = 0, high = 0;
        enum { none, some, all } which = none;
    };
    GS_HD static Slopes slopes_of(float r, float z, float rr, float rz, float zz) {
        const float along = r * r - rr;
        if (!(along > 1e-4f * r * r)) return {0, 0, Slopes::all};  // it reaches over r = 0
        if (r < 0) return {};
        const float root2 = z * z * rr - 2 * r * z * rz + r * r * zz - (rr * zz - rz * rz),
                    root = math::sqrt(math::max(root2, 0.0f)), middle = r * z - rz;
        return {(middle - root) / along, (middle + root) / along, Slopes::some};
    }
    /// Contains the ellipsoid and a ball of radius `by` added to it.
    GS_HD static Sym3<float> grown(const RayOutline& o, float by) {
        if (by <= 0) return o.shape;
        // (1 + b) A + (1 + 1/b) by^2 I holds their sum for any b > 0.
        const float b = by / math::max(o.reach, 1e-20f), f = 1 + b, g = (1 + 1 / b) * by * by;
        const Sym3<float>& s = o.shape;
        return {f * s.xx + g, f * s.xy, f * s.xz, f * s.yy + g, f * s.yz, f * s.zz + g};
    }
    /// How many bins begin at `azimuth` or before.
    GS_HD std::uint32_t bins_until(float azimuth) const {
        std::uint32_t first = 0;
        for (std::uint32_t count = bin_count; count > 0;) {
            const std::uint32_t half = count / 2;
            if (bins[first + half].low <= azimuth) {
                first += half + 1;
                count -= half + 1;
            } else {
                count = half;
            }
        }
        return first;
    }
    /// What is seen there, with this sine of half its angle from above.
    GS_HD bool between_bins(Vec3f p, float sine) const {
        const float cosine = math::sqrt(1 - sine * sine),
                    low = quarter_turns({cosine * p.x + sine * p.y, cosine * p.y - sine * p.x}),
                    high = quarter_turns({cosine * p.x - sine * p.y, cosine * p.y + sine * p.x});
        if (low > high) return false;  // over the seam
        const std::uint32_t after = bins_until(high + kMargin);
        return after == 0 || bins[after - 1].high < low - kMargin;
    }
    GS_HD Vec3f seen_from(Vec3d from, Vec3f mean) const {
        return rotation * Vec3f{static_cast<float>(static_cast<double>(mean.x) - from.x),
                                static_cast<float>(static_cast<double>(mean.y) - from.y),
                                static_cast<float>(static_cast<double>(mean.z) - from.z)};
    }
    template <class Found>
    GS_HD void in_bins(float low, float high, Vec3f mean, const RayOutline& o,
                       Found&& found) const {
        const std::uint32_t before = bins_until(low), after = bins_until(high);
        for (std::uint32_t b = before > 0 ? before - 1 : 0; b < after; ++b)
            if (bins[b].high >= low) in_bin(bins[b], mean, o, found);
    }
    template <class Found>
    GS_HD void in_bin(const RayBin& bin, Vec3f mean, const RayOutline& o, Found&& found) const {
        const Vec3f p = seen_from(bin.origin, mean);
        const Sym3<float> a = grown(o, bin.spread);
        // Beyond one of the bin's two planes?
        const Vec2<float> inward[2] = {bin.inward_low, bin.inward_high};
        for (const Vec2<float> n : inward) {
            const float inside = n.x * p.x + n.y * p.y,
                        reach2 = n.x * n.x * a.xx + 2 * n.x * n.y * a.xy + n.y * n.y * a.yy;
            if (inside < 0 && inside * inside > reach2 * 1.0001f) return;
        }
        const float c = bin.ahead.x, s = bin.ahead.y;
        const Slopes slopes =
            slopes_of(c * p.x + s * p.y, p.z, c * c * a.xx + 2 * c * s * a.xy + s * s * a.yy,
                      c * a.xz + s * a.yz, a.zz);
        if (slopes.which == Slopes::none) return;
        const float low = slopes.low - kMargin * (1 + ::fabsf(slopes.low)),
                    high = slopes.high + kMargin * (1 + ::fabsf(slopes.high));
        for (std::uint32_t t = bin.first_tile; t < bin.first_tile + bin.tiles; ++t)
            if (slopes.which == Slopes::all || (tiles[t].high >= low && tiles[t].low <= high))
                found(t);
    }
};

}  // namespace gs
