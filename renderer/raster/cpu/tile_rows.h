// What blend and its backward share about a tile: its rectangle, the rows a splat reaches, log2
// alpha along a row, the rules. Included once per instruction set, like lanes.h.
#if defined(GS_RASTER_CPU_TILE_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GS_RASTER_CPU_TILE_ROWS_H_
#undef GS_RASTER_CPU_TILE_ROWS_H_
#else
#define GS_RASTER_CPU_TILE_ROWS_H_
#endif

#include <algorithm>
#include <cmath>

#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/cpu/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

struct TileRect {
    int x, y, columns, rows;  ///< px; columns and rows are 16 except at the right and bottom edge
};
HWY_INLINE TileRect tile_rect(const BlendParams& p, std::uint32_t tile) {
    const int x = static_cast<int>(tile) % p.tiles_x * kTileSize,
              y = static_cast<int>(tile) / p.tiles_x * kTileSize;
    return {x, y, std::min(kTileSize, p.width - x), std::min(kTileSize, p.height - y)};
}

/// The quadratic form split into what depends on the column, on the row, and on both (a product).
struct RowTerms {
    alignas(64) float by_column[kTileSize];  ///< -a dx^2
    alignas(64) float dx[kTileSize];
    alignas(64) float dy[kTileSize];
    alignas(64) float by_row[kTileSize];  ///< l - c dy^2
    alignas(64) float mixed[kTileSize];   ///< -b dy
    std::uint32_t rows =
        0;  ///< bit r: row r reaches log2_alpha_min somewhere between its first and last pixel

    HWY_INLINE RowTerms(const Splat& s, const TileRect& rect, float log2_alpha_min) {
        const D d;
        const float left = static_cast<float>(rect.x) + 0.5f - s.x,
                    top = static_cast<float>(rect.y) + 0.5f - s.y;
        const auto x0 = hn::Set(d, left),
                   x1 = hn::Set(d, left + static_cast<float>(rect.columns - 1)),
                   y0 = hn::Set(d, top);
        const auto minus_a = hn::Set(d, -s.a);
        for (int i = 0; i < kTileSize; i += static_cast<int>(hn::Lanes(d))) {
            const auto index = hn::Iota(d, static_cast<float>(i));
            const auto x = hn::Add(index, x0), y = hn::Add(index, y0);
            const auto row = hn::NegMulAdd(hn::Mul(hn::Set(d, s.c), y), y, hn::Set(d, s.l)),
                       mix = hn::Mul(hn::Set(d, -s.b), y);
            hn::Store(x, d, dx + i);
            hn::Store(y, d, dy + i);
            hn::Store(hn::Mul(hn::Mul(minus_a, x), x), d, by_column + i);
            hn::Store(row, d, by_row + i);
            hn::Store(mix, d, mixed + i);
            // Lanes as rows: the largest value along the row lies at the densest column, or at the
            // end nearest to it.
            const auto densest = hn::Min(hn::Max(hn::Mul(hn::Set(d, s.slope), y), x0), x1);
            const auto largest = hn::MulAdd(hn::MulAdd(minus_a, densest, mix), densest, row);
            alignas(8) std::uint8_t bits[8] = {};
            hn::StoreMaskBits(d, hn::Ge(largest, hn::Set(d, log2_alpha_min - 1e-3f)), bits);
            rows |= (static_cast<std::uint32_t>(bits[0]) | static_cast<std::uint32_t>(bits[1]) << 8)
                    << i;
        }
    }
};
HWY_INLINE hn::Vec<D> log2_alpha(const RowTerms& terms, int lane, int row) {
    const D d;
    const auto fixed = hn::Add(hn::Load(d, terms.by_column + lane), hn::Set(d, terms.by_row[row]));
    return hn::MulAdd(hn::Load(d, terms.dx + lane), hn::Set(d, terms.mixed[row]), fixed);
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

/// A floor that no log2 alpha reaches: the pixel has ended, or lies outside the picture.
inline constexpr float kEnded = 1e30f;

HWY_INLINE bool row_alive(const float* floor) {
    const D d;
    for (int lane = 0; lane < kTileSize; lane += static_cast<int>(hn::Lanes(d)))
        if (!hn::AllFalse(d, hn::Lt(hn::Load(d, floor + lane), hn::Set(d, kEnded)))) return true;
    return false;
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
