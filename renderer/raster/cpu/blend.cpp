// Blend forward: one tile at a time, front to back, a vector lane per pixel of a row. State stays in the first-level
// cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/blend.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/cpu/tile_rows.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

struct TileState {
    alignas(64) float t[kTilePixels];  ///< transmittance; negative once the pixel has ended
    alignas(64) float red[kTilePixels], green[kTilePixels], blue[kTilePixels], depth[kTilePixels];
    alignas(64) std::uint16_t contributors[kTilePixels];
    std::uint32_t alive_rows = 0;
    std::uint64_t row_steps = 0, blended = 0;
};

HWY_INLINE void start(TileState& s, const TileRect& rect) {
    for (int i = 0; i < kTilePixels; ++i) {
        const bool inside = i % kTileSize < rect.columns && i / kTileSize < rect.rows;
        s.t[i] = inside ? 1.0f : -1.0f;
        s.red[i] = s.green[i] = s.blue[i] = s.depth[i] = 0.0f;
        s.contributors[i] = 0;
    }
    s.alive_rows = (1u << rect.rows) - 1;
}

/// Blends one splat into one row. Returns whether a pixel was blended or ended; clears the row's bit in alive_rows when
/// its last pixel has ended.
template <bool kDepth, bool kCounters>
HWY_INLINE bool blend_row(TileState& s, const Splat& splat, const RowTerms& terms, const BlendParams& params, int row) {
    const D d;
    const auto zero = hn::Zero(d);
    bool changed = false, any_alive = false, stopped = false;
    for (int lane = 0; lane < kTileSize; lane += static_cast<int>(hn::Lanes(d))) {
        float* const t_at = s.t + row * kTileSize + lane;
        const auto power = log2_alpha(terms, lane, row);
        const auto covered =
            hn::And(hn::Ge(power, hn::Set(d, params.log2_alpha_min)), hn::Le(power, hn::Set(d, terms.ceiling)));
        if (hn::Lanes(d) == static_cast<std::size_t>(kTileSize) && hn::AllFalse(d, covered)) return false;
        const auto t = hn::Load(d, t_at);
        const auto open = hn::And(covered, hn::Gt(t, zero));
        const auto alpha = hn::Min(exp2(power), hn::Set(d, params.rules.alpha_max));
        const auto weight = hn::Mul(alpha, t);
        const auto next = hn::Sub(t, weight);
        const auto limit = hn::Set(d, params.rules.transmittance_min);
        const auto ends = hn::And(open, params.rules.stop_at_equal ? hn::Le(next, limit) : hn::Lt(next, limit));
        const auto blended = hn::AndNot(ends, open);
        const auto w = hn::IfThenElseZero(blended, weight);
        auto t_after = hn::Sub(t, w);
        if (HWY_UNLIKELY(!hn::AllFalse(d, ends))) {
            t_after = hn::IfThenElse(ends, hn::Neg(t), t_after);
            stopped = true;
        }
        hn::Store(t_after, d, t_at);
        if (stopped) any_alive |= !hn::AllFalse(d, hn::Gt(t_after, zero));
        const int at = row * kTileSize + lane;
        hn::Store(hn::MulAdd(w, hn::Set(d, splat.red), hn::Load(d, s.red + at)), d, s.red + at);
        hn::Store(hn::MulAdd(w, hn::Set(d, splat.green), hn::Load(d, s.green + at)), d, s.green + at);
        hn::Store(hn::MulAdd(w, hn::Set(d, splat.blue), hn::Load(d, s.blue + at)), d, s.blue + at);
        if constexpr (kDepth)
            hn::Store(hn::MulAdd(w, hn::Set(d, splat.depth), hn::Load(d, s.depth + at)), d, s.depth + at);
        changed |= !hn::AllFalse(d, open);
        if constexpr (kCounters) {
            s.blended += hn::CountTrue(d, blended);
            for (std::size_t i = 0; i < hn::Lanes(d); ++i)
                s.contributors[at + static_cast<int>(i)] += hn::ExtractLane(w, i) > 0.0f;
        }
    }
    if (HWY_UNLIKELY(stopped) && !any_alive && !row_alive(s.t + row * kTileSize)) s.alive_rows &= ~(1u << row);
    return changed;
}

template <bool kDepth>
HWY_INLINE void finish(const TileState& s, const TileRect& rect, const BlendParams& p) {
    const std::size_t plane = static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height);
    for (int row = 0; row < rect.rows; ++row) {
        const std::size_t to = static_cast<std::size_t>(rect.y + row) * static_cast<std::size_t>(p.width) +
                               static_cast<std::size_t>(rect.x);
        for (int column = 0; column < rect.columns; ++column) {
            const int i = row * kTileSize + column;
            const std::size_t o = to + static_cast<std::size_t>(column);
            const float t = std::abs(s.t[i]);
            p.color[o] = s.red[i] + t * p.background.x;
            p.color[plane + o] = s.green[i] + t * p.background.y;
            p.color[2 * plane + o] = s.blue[i] + t * p.background.z;
            p.alpha[o] = 1.0f - t;
            if constexpr (kDepth) p.depth[o] = s.depth[i];
            if (p.contributors != nullptr) p.contributors[o] = s.contributors[i];
        }
    }
}

template <bool kDepth, bool kCounters>
void blend(const BlendParams& params, std::uint32_t tile) {
    const TileRect rect = tile_rect(params, tile);
    TileState s;
    start(s, rect);
    const std::uint32_t begin = params.tile_begin[tile], end = params.tile_begin[tile + 1];
    std::uint32_t k = begin;
    for (; k < end && s.alive_rows != 0; ++k) {
        if (k + 4 < end) hwy::Prefetch(params.splats + params.slot_from_isect[k + 4]);
        const Splat& splat = params.splats[params.slot_from_isect[k]];
        std::uint32_t rows = touched_rows(splat, rect) & s.alive_rows, changed = 0;
        if (rows != 0) {
            const RowTerms terms(splat, rect);
            s.row_steps += static_cast<std::uint64_t>(hwy::PopCount(rows));
            for (; rows != 0; rows &= rows - 1) {
                const int row = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(rows));
                changed |= static_cast<std::uint32_t>(blend_row<kDepth, kCounters>(s, splat, terms, params, row))
                           << row;
            }
        }
        if (params.row_mask != nullptr) params.row_mask[k] = static_cast<std::uint16_t>(changed);
    }
    params.list_end[tile] = k - begin;
    params.pairs_per_tile[tile] = static_cast<std::uint32_t>(s.row_steps) * static_cast<std::uint32_t>(rect.columns);
    if (params.blended_pairs != nullptr) params.blended_pairs[tile] = s.blended;
    finish<kDepth>(s, rect, params);
}

void BlendTile(const BlendParams& params, std::uint32_t tile) {
    const bool depth = params.depth != nullptr, counters = params.contributors != nullptr;
    if (depth && counters) return blend<true, true>(params, tile);
    if (depth) return blend<true, false>(params, tile);
    if (counters) return blend<false, true>(params, tile);
    blend<false, false>(params, tile);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(BlendTile);
void blend_tile(const BlendParams& params, std::uint32_t tile) { HWY_DYNAMIC_DISPATCH(BlendTile)(params, tile); }
}  // namespace gs::cpu
#endif
