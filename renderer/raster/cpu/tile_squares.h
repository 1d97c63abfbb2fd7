// What blend and its backward share about a tile: its rectangle, its sixteen squares of 4 x 4
// pixels (a lane is a pixel of a square), the squares a splat reaches, log2 alpha, the rules. Most
// splats are small or narrow: squares leave fewer lanes beside them than rows of sixteen do.
// Included once per instruction set, like lanes.h.
#if defined(GS_RASTER_CPU_TILE_SQUARES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GS_RASTER_CPU_TILE_SQUARES_H_
#undef GS_RASTER_CPU_TILE_SQUARES_H_
#else
#define GS_RASTER_CPU_TILE_SQUARES_H_
#endif

#include <algorithm>
#include <cstring>

#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/tile_cover.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

struct TileRect {
    int x, y, columns, rows;  ///< px; columns and rows are 16 except at the right and bottom edge
    float wrap;               ///< as in BlendParams

    /// Of a splat's mean, from the tile's corner; of its nearest copy where the picture repeats.
    HWY_INLINE float mean_x(const Splat& s) const {
        const float left = static_cast<float>(x);
        if (HWY_LIKELY(wrap == 0.0f)) return s.x - left;
        return nearest_copy(s.x, left + 0.5f * static_cast<float>(kTileSize), wrap) - left;
    }
    HWY_INLINE float mean_y(const Splat& s) const { return s.y - static_cast<float>(y); }
};
HWY_INLINE TileRect tile_rect(const BlendParams& p, std::uint32_t tile) {
    const int x = static_cast<int>(tile) % p.tiles_x * kTileSize,
              y = static_cast<int>(tile) / p.tiles_x * kTileSize;
    return {x, y, std::min(kTileSize, p.width - x), std::min(kTileSize, p.height - y), p.wrap};
}
/// Squares with a pixel inside the picture.
HWY_INLINE std::uint32_t squares_inside(const TileRect& rect) {
    std::uint32_t squares = 0;
    for (int s = 0; s < kSquares; ++s)
        squares |= static_cast<std::uint32_t>(square_pixels(s, rect.columns, rect.rows) > 0) << s;
    return squares;
}

/// Fetches an entry of 48 bytes, which may span two cache lines.
template <class T>
HWY_INLINE void prefetch_whole(const T* entry) {
    hwy::Prefetch(entry);
    hwy::Prefetch(reinterpret_cast<const char*>(entry + 1) - 1);
}

/// Lanes of a mask as bits.
template <class DF, class M>
HWY_INLINE std::uint32_t mask_bits(DF d, M mask) {
    alignas(8) std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, mask, bits);
    return static_cast<std::uint32_t>(bits[0]) | static_cast<std::uint32_t>(bits[1]) << 8;
}

/// Pixels of one vector.
inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
/// Bits of BlendParams::touched for the vector of a square's pixels from `lane` on, or none.
HWY_INLINE std::uint32_t halves_if(bool any, int square, int lane) {
    constexpr std::uint32_t kHalves = kLanes > kSquarePixels / 2 ? 3 : 1;
    return any ? kHalves << (2 * square + lane / (kSquarePixels / 2)) : 0u;
}

/// Pixel centres from the tile's corner, by column and by row of squares.
struct PixelCentres {
    alignas(64) float x[4][kSquarePixels], y[4][kSquarePixels];
};
inline constexpr PixelCentres kCentres = [] {
    PixelCentres c{};
    for (int q = 0; q < 4; ++q)
        for (int i = 0; i < kSquarePixels; ++i) {
            c.x[q][i] = static_cast<float>(kSquareSide * q + i % kSquareSide) + 0.5f;
            c.y[q][i] = static_cast<float>(kSquareSide * q + i / kSquareSide) + 0.5f;
        }
    return c;
}();
/// The first pixel centre of each square.
struct SquareCorners {
    alignas(64) float x[kSquares], y[kSquares];
};
inline constexpr SquareCorners kCorners = [] {
    SquareCorners c{};
    for (int s = 0; s < kSquares; ++s) {
        c.x[s] = static_cast<float>(s % 4 * kSquareSide) + 0.5f;
        c.y[s] = static_cast<float>(s / 4 * kSquareSide) + 0.5f;
    }
    return c;
}();

/// A splat as a tile sees it: log2 alpha = l - (s X + r Y + k1)^2 - (w Y + k2)^2 at the pixel
/// centre (X, Y) from the tile's corner. Laid out as Splat, k1 and k2 in the place of x and y.
struct TileSplat {
    float k1, k2, s, r, w, l, red, green, blue, depth, slope_x, slope_y;

    /// (x, y): its mean from the tile's corner.
    HWY_INLINE void set(const Splat& from, float x, float y) {
        std::memcpy(this, &from, sizeof(from));
        k1 = -(from.s * x + from.r * y);
        k2 = -(from.w * y);
    }
};
static_assert(sizeof(TileSplat) == sizeof(Splat));
HWY_INLINE hn::Vec<D> log2_alpha(const TileSplat& splat, hn::Vec<D> x, hn::Vec<D> y) {
    const D d;
    // What x alone gives serves several rows.
    const auto along = hn::MulAdd(hn::Set(d, splat.r), y,
                                  hn::MulAdd(hn::Set(d, splat.s), x, hn::Set(d, splat.k1))),
               across = hn::MulAdd(hn::Set(d, splat.w), y, hn::Set(d, splat.k2));
    return hn::NegMulAdd(along, along, hn::NegMulAdd(across, across, hn::Set(d, splat.l)));
}

/// Bit i: square i holds a point where the splat, whose mean is at (mean_x, mean_y) from the tile's
/// corner, reaches `log2_alpha_min`. Lanes are squares. Where the mean lies outside a square, the
/// densest point is on one of the two edges that face it.
HWY_INLINE std::uint32_t squares_reached(const Splat& splat, float mean_x, float mean_y,
                                         float log2_alpha_min) {
    const D d;
    const auto s = hn::Set(d, splat.s), r = hn::Set(d, splat.r), w = hn::Set(d, splat.w),
               zero = hn::Zero(d), side = hn::Set(d, static_cast<float>(kSquareSide - 1)),
               // What the form may reach; the slack is far above its rounding.
        most = hn::Set(d, splat.l - log2_alpha_min + 1e-3f);
    std::uint32_t squares = 0;
    // Vectors of whole rows of squares have the same columns.
    for (int column = 0; column < 4; column += kLanes) {
        const auto x0 = hn::Sub(hn::Load(d, kCorners.x + column), hn::Set(d, mean_x)),
                   x1 = hn::Add(x0, side), x = hn::Min(hn::Max(x0, zero), x1),
                   x_along = hn::Mul(s, x), y_of_x = hn::Mul(hn::Set(d, splat.slope_y), x);
        for (int i = column; i < kSquares; i += std::max(kLanes, 4)) {
            const auto y0 = hn::Sub(hn::Load(d, kCorners.y + i), hn::Set(d, mean_y)),
                       y1 = hn::Add(y0, side), y = hn::Min(hn::Max(y0, zero), y1);
            const auto y_at_x = hn::Min(hn::Max(y_of_x, y0), y1);
            const auto x_at_y = hn::Min(hn::Max(hn::Mul(hn::Set(d, splat.slope_x), y), x0), x1);
            const auto along = hn::MulAdd(r, y_at_x, x_along), across = hn::Mul(w, y_at_x),
                       along_y = hn::MulAdd(s, x_at_y, hn::Mul(r, y)), across_y = hn::Mul(w, y);
            const auto least = hn::Min(hn::MulAdd(along, along, hn::Mul(across, across)),
                                       hn::MulAdd(along_y, along_y, hn::Mul(across_y, across_y)));
            squares |= mask_bits(d, hn::Le(least, most)) << i;
        }
    }
    return squares;
}

/// The constants of the blending rules as vectors, loaded once a tile.
struct Rules {
    hn::Vec<D> alpha_max, transmittance_min;
    HWY_INLINE explicit Rules(const BlendParams& p) {
        const D d;
        alpha_max = hn::Set(d, p.rules.alpha_max);
        transmittance_min = hn::Set(d, p.transmittance_min);
    }
};

/// Alpha at the pixel centres (x, y), 0 where log2 alpha is below `floor`; `open`: where it is not.
/// Forward and backward decide by this what is blended.
HWY_INLINE hn::Vec<D> alpha_at(const TileSplat& splat, hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> floor,
                               const Rules& rules, hn::Mask<D>& open) {
    const auto power = log2_alpha(splat, x, y);
    open = hn::Ge(power, floor);
    return hn::IfThenElseZero(open, hn::Min(exp2(power), rules.alpha_max));
}

/// A floor that no log2 alpha reaches: the pixel has ended, or lies outside the picture.
inline constexpr float kEnded = 1e30f;

/// `log2_alpha_min` for the pixels of a square that lie inside the picture.
HWY_INLINE void start_floor(float* floor, const TileRect& rect, int square, float log2_alpha_min) {
    const int columns = rect.columns - square % 4 * kSquareSide,
              rows = rect.rows - square / 4 * kSquareSide;
    std::fill_n(floor, kSquarePixels, log2_alpha_min);
    if (columns >= kSquareSide && rows >= kSquareSide) return;
    for (int i = 0; i < kSquarePixels; ++i)
        if (i % kSquareSide >= columns || i / kSquareSide >= rows) floor[i] = kEnded;
}
/// Calls f(d, x) with `d` the vectors that pixels x .. of a row of `columns` are taken in: four at
/// a time, what is left one by one.
template <class F>
HWY_INLINE void for_each_pixels(int columns, F&& f) {
    const hn::CappedTag<float, kSquareSide> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    int x = 0;
    for (; x + lanes <= columns; x += lanes) f(d, static_cast<std::size_t>(x));
    for (; x < columns; ++x) f(hn::CappedTag<float, 1>(), static_cast<std::size_t>(x));
}
/// Calls f(square, i, columns, o) for every row of every square: its pixels in the picture are i ..
/// i + columns - 1 of the square and o .. of the picture. Whole rows get a constant 4, which makes
/// vectors of them.
template <class F>
HWY_INLINE void for_each_square_row(const TileRect& rect, const BlendParams& p, F&& f) {
    for (int y = 0; y < rect.rows; ++y) {
        const std::size_t o =
            static_cast<std::size_t>(rect.y + y) * static_cast<std::size_t>(p.width) +
            static_cast<std::size_t>(rect.x);
        const int i = y % kSquareSide * kSquareSide;
        for (int x = 0; x < rect.columns; x += kSquareSide) {
            const int square = y / kSquareSide * 4 + x / kSquareSide;
            const std::size_t from = o + static_cast<std::size_t>(x);
            if (rect.columns - x >= kSquareSide) {
                f(square, i, kSquareSide, from);
            } else {
                f(square, i, rect.columns - x, from);
            }
        }
    }
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
