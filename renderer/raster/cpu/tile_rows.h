// What blend and its backward share about a tile: its rectangle, the rows a splat touches, and log2 alpha along a row.
// Included once per instruction set, like lanes.h.
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
    const int x = static_cast<int>(tile) % p.tiles_x * kTileSize, y = static_cast<int>(tile) / p.tiles_x * kTileSize;
    return {x, y, std::min(kTileSize, p.width - x), std::min(kTileSize, p.height - y)};
}

/// Bit r set: row r of the tile has pixel centres within the splat's reach.
HWY_INLINE std::uint32_t touched_rows(const Splat& splat, const TileRect& rect) {
    const float y = splat.y - static_cast<float>(rect.y) - 0.5f;
    const float first = std::ceil(y - splat.reach_y), last = std::floor(y + splat.reach_y);
    const int lo = static_cast<int>(std::max(first, 0.0f)),
              hi = static_cast<int>(std::min(last, static_cast<float>(kTileSize - 1)));
    return lo <= hi ? (2u << hi) - (1u << lo) : 0u;
}

/// The quadratic form split into what depends on the column, on the row, and on both (a product).
struct RowTerms {
    alignas(64) float by_column[kTileSize];  ///< -a dx^2
    alignas(64) float dx[kTileSize];
    alignas(64) float by_row[kTileSize];  ///< l - c dy^2
    alignas(64) float mixed[kTileSize];   ///< -b dy
    float ceiling;                        ///< above l only by rounding

    HWY_INLINE RowTerms(const Splat& s, const TileRect& rect) : ceiling(s.l + 1e-3f) {
        const D d;
        const auto x0 = hn::Set(d, static_cast<float>(rect.x) + 0.5f - s.x),
                   y0 = hn::Set(d, static_cast<float>(rect.y) + 0.5f - s.y);
        for (int i = 0; i < kTileSize; i += static_cast<int>(hn::Lanes(d))) {
            const auto index = hn::Iota(d, static_cast<float>(i));
            const auto x = hn::Add(index, x0), y = hn::Add(index, y0);
            hn::Store(x, d, dx + i);
            hn::Store(hn::Mul(hn::Mul(hn::Set(d, -s.a), x), x), d, by_column + i);
            hn::Store(hn::NegMulAdd(hn::Mul(hn::Set(d, s.c), y), y, hn::Set(d, s.l)), d, by_row + i);
            hn::Store(hn::Mul(hn::Set(d, -s.b), y), d, mixed + i);
        }
    }
};
HWY_INLINE hn::Vec<D> log2_alpha(const RowTerms& terms, int lane, int row) {
    const D d;
    const auto fixed = hn::Add(hn::Load(d, terms.by_column + lane), hn::Set(d, terms.by_row[row]));
    return hn::MulAdd(hn::Load(d, terms.dx + lane), hn::Set(d, terms.mixed[row]), fixed);
}

HWY_INLINE bool row_alive(const float* t) {
    const D d;
    for (int lane = 0; lane < kTileSize; lane += static_cast<int>(hn::Lanes(d)))
        if (!hn::AllFalse(d, hn::Gt(hn::Load(d, t + lane), hn::Zero(d)))) return true;
    return false;
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
