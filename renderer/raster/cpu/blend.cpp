// Blend forward: one tile at a time, front to back, a vector lane per pixel of a row. State stays
// in the first-level cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/blend.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/cpu/tile_rows.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

/// What of depth is gathered. Each makes kernels of its own, so that nobody pays for what is not
/// asked for.
enum class Depths { none, expected, with_median };

/// A row of pixels; its fields lie together so that one address serves all.
struct ForwardRow {
    alignas(64) float floor[kTileSize];  ///< least log2 alpha that blends; kEnded once the pixel
                                         ///< has ended
    alignas(64) float t[kTileSize];      ///< transmittance
    alignas(64) float red[kTileSize], green[kTileSize], blue[kTileSize], depth[kTileSize];
    alignas(64) float median[kTileSize];  ///< depth; with_median only
};
struct TileState {
    ForwardRow row[kTileSize];
    std::uint16_t contributors[kTileSize][kTileSize];
    std::uint32_t alive_rows = 0;
    std::uint64_t row_steps = 0, blended = 0;
};

template <Depths kDepths>
HWY_INLINE void start(TileState& s, const TileRect& rect, float log2_alpha_min) {
    for (int y = 0; y < kTileSize; ++y)
        for (int x = 0; x < kTileSize; ++x) {
            ForwardRow& row = s.row[y];
            row.floor[x] = x < rect.columns && y < rect.rows ? log2_alpha_min : kEnded;
            row.t[x] = 1.0f;
            row.red[x] = row.green[x] = row.blue[x] = row.depth[x] = 0.0f;
            if constexpr (kDepths == Depths::with_median) row.median[x] = 0.0f;
            s.contributors[y][x] = 0;
        }
    s.alive_rows = (1u << rect.rows) - 1;
}

/// The splat behind which a pixel's transmittance first falls below one half gives its median
/// depth. `t`: before it; `behind`: behind it.
template <class V>
HWY_INLINE void note_median(ForwardRow& at, int lane, V t, V behind, float depth) {
    const D d;
    const auto half = hn::Set(d, kMedianTransmittance);
    const auto crosses = hn::And(hn::Ge(t, half), hn::Lt(behind, half));
    hn::Store(hn::IfThenElse(crosses, hn::Set(d, depth), hn::Load(d, at.median + lane)), d,
              at.median + lane);
}

/// Blends one splat into one row. Returns whether a pixel was blended or ended; clears the row's
/// bit in alive_rows when its last pixel has ended.
template <Depths kDepths, bool kCounters>
HWY_INLINE bool blend_row(TileState& s, const Splat& splat, const RowTerms& terms,
                          const Rules& rules, int row) {
    const D d;
    bool touched = false;
    ForwardRow& at = s.row[row];
    for (int lane = 0; lane < kTileSize; lane += static_cast<int>(hn::Lanes(d))) {
        const auto power = log2_alpha(terms, lane, row), t = hn::Load(d, at.t + lane);
        auto open = hn::Ge(power, hn::Load(d, at.floor + lane));
        if (hn::AllFalse(d, open)) continue;
        touched = true;
        const auto weight = hn::Mul(hn::Min(exp2(power), rules.alpha_max), t);
        const auto ends = hn::And(open, hn::Le(hn::Sub(t, weight), rules.transmittance_min));
        if (HWY_UNLIKELY(!hn::AllFalse(d, ends))) {
            open = hn::AndNot(ends, open);
            hn::Store(hn::IfThenElse(ends, hn::Set(d, kEnded), hn::Load(d, at.floor + lane)), d,
                      at.floor + lane);
            if (!row_alive(at.floor)) s.alive_rows &= ~(1u << row);
        }
        const auto w = hn::IfThenElseZero(open, weight);
        const auto behind = hn::Sub(t, w);
        if constexpr (kDepths == Depths::with_median) note_median(at, lane, t, behind, splat.depth);
        hn::Store(behind, d, at.t + lane);
        hn::Store(hn::MulAdd(w, hn::Set(d, splat.red), hn::Load(d, at.red + lane)), d,
                  at.red + lane);
        hn::Store(hn::MulAdd(w, hn::Set(d, splat.green), hn::Load(d, at.green + lane)), d,
                  at.green + lane);
        hn::Store(hn::MulAdd(w, hn::Set(d, splat.blue), hn::Load(d, at.blue + lane)), d,
                  at.blue + lane);
        if constexpr (kDepths != Depths::none)
            hn::Store(hn::MulAdd(w, hn::Set(d, splat.depth), hn::Load(d, at.depth + lane)), d,
                      at.depth + lane);
        if constexpr (kCounters) {
            s.blended += hn::CountTrue(d, open);
            for (std::size_t i = 0; i < hn::Lanes(d); ++i)
                s.contributors[row][static_cast<std::size_t>(lane) + i] +=
                    hn::ExtractLane(w, i) > 0.0f;
        }
    }
    return touched;
}

template <Depths kDepths>
HWY_INLINE void finish(const TileState& s, const TileRect& rect, const BlendParams& p) {
    const std::size_t plane =
        static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height);
    for (int y = 0; y < rect.rows; ++y) {
        const ForwardRow& row = s.row[y];
        const std::size_t to =
            static_cast<std::size_t>(rect.y + y) * static_cast<std::size_t>(p.width) +
            static_cast<std::size_t>(rect.x);
        for (int x = 0; x < rect.columns; ++x) {
            const std::size_t o = to + static_cast<std::size_t>(x);
            const float t = row.t[x];
            p.color[o] = row.red[x] + t * p.background.x;
            p.color[plane + o] = row.green[x] + t * p.background.y;
            p.color[2 * plane + o] = row.blue[x] + t * p.background.z;
            p.alpha[o] = 1.0f - t;
            if constexpr (kDepths != Depths::none) p.depth[o] = row.depth[x];
            if constexpr (kDepths == Depths::with_median) p.median_depth[o] = row.median[x];
            if (p.contributors != nullptr) p.contributors[o] = s.contributors[y][x];
        }
    }
}

/// Tiles of other threads add to the same slot; whole numbers come out the same in any order.
HWY_INLINE void add_costs(const BlendParams& p, std::uint32_t slot, std::uint64_t evaluated,
                          std::uint64_t blended) {
    __atomic_fetch_add(&p.slot_evaluated[slot], static_cast<std::uint32_t>(evaluated),
                       __ATOMIC_RELAXED);
    __atomic_fetch_add(&p.slot_blended[slot], static_cast<std::uint32_t>(blended),
                       __ATOMIC_RELAXED);
}

template <Depths kDepths, bool kCounters>
void blend(const BlendParams& params, std::uint32_t tile) {
    const TileRect rect = tile_rect(params, tile);
    const Rules rules(params);
    TileState s;
    start<kDepths>(s, rect, params.log2_alpha_min);
    const std::uint32_t begin = params.tile_begin[tile], end = params.tile_begin[tile + 1];
    std::uint32_t k = begin;
    for (; k < end && s.alive_rows != 0; ++k) {
        if (k + 4 < end) hwy::Prefetch(params.splats + params.slot_from_isect[k + 4]);
        const Splat& splat = params.splats[params.slot_from_isect[k]];
        const RowTerms terms(splat, rect, params.log2_alpha_min);
        std::uint32_t rows = terms.rows & s.alive_rows, touched = 0;
        const std::uint64_t row_steps = static_cast<std::uint64_t>(hwy::PopCount(rows));
        [[maybe_unused]] const std::uint64_t blended = s.blended;
        s.row_steps += row_steps;
        for (; rows != 0; rows &= rows - 1) {
            const int row = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(rows));
            touched |= static_cast<std::uint32_t>(
                           blend_row<kDepths, kCounters>(s, splat, terms, rules, row))
                       << row;
        }
        if (params.row_mask != nullptr) params.row_mask[k] = static_cast<std::uint16_t>(touched);
        if constexpr (kCounters)
            if (params.slot_evaluated != nullptr)
                add_costs(params, params.slot_from_isect[k],
                          row_steps * static_cast<std::uint64_t>(rect.columns),
                          s.blended - blended);
    }
    params.list_end[tile] = k - begin;
    params.pairs_per_tile[tile] =
        static_cast<std::uint32_t>(s.row_steps) * static_cast<std::uint32_t>(rect.columns);
    if (params.blended_pairs != nullptr) params.blended_pairs[tile] = s.blended;
    finish<kDepths>(s, rect, params);
}

template <bool kCounters>
void blend_with(const BlendParams& params, std::uint32_t tile) {
    if (params.depth == nullptr) return blend<Depths::none, kCounters>(params, tile);
    if (params.median_depth == nullptr) return blend<Depths::expected, kCounters>(params, tile);
    blend<Depths::with_median, kCounters>(params, tile);
}

void BlendTile(const BlendParams& params, std::uint32_t tile) {
    if (params.contributors != nullptr) return blend_with<true>(params, tile);
    blend_with<false>(params, tile);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(BlendTile);
void blend_tile(const BlendParams& params, std::uint32_t tile) {
    HWY_DYNAMIC_DISPATCH(BlendTile)(params, tile);
}
}  // namespace gs::cpu
#endif
