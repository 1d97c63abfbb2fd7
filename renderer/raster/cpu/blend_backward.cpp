// Blend backward: replays each tile front to back over exactly the rows that forward changed, and sums each splat's
// gradient over the tile's pixels. With T the transmittance before a splat and R what all splats behind it contribute,
// d loss / d alpha = T (c . g) - R / (1 - alpha); R starts as the whole pixel and loses each splat's own part.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/blend_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/cpu/tile_rows.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

struct TileReplay {
    alignas(64) float t[kTilePixels];     ///< transmittance; negative once the pixel has ended
    alignas(64) float rest[kTilePixels];  ///< R
    alignas(64) float g_red[kTilePixels], g_green[kTilePixels], g_blue[kTilePixels], g_depth[kTilePixels];
};

template <bool kDepth>
HWY_INLINE void start(TileReplay& s, const TileRect& rect, const BlendBackwardParams& p) {
    const BlendParams& f = p.forward;
    const std::size_t plane = static_cast<std::size_t>(f.width) * static_cast<std::size_t>(f.height);
    for (int i = 0; i < kTilePixels; ++i) {
        s.t[i] = -1.0f;
        s.rest[i] = s.g_red[i] = s.g_green[i] = s.g_blue[i] = s.g_depth[i] = 0.0f;
    }
    for (int row = 0; row < rect.rows; ++row)
        for (int column = 0; column < rect.columns; ++column) {
            const int i = row * kTileSize + column;
            const std::size_t o = static_cast<std::size_t>(rect.y + row) * static_cast<std::size_t>(f.width) +
                                  static_cast<std::size_t>(rect.x + column);
            s.t[i] = 1.0f;
            s.g_red[i] = p.v_color[o];
            s.g_green[i] = p.v_color[plane + o];
            s.g_blue[i] = p.v_color[2 * plane + o];
            s.rest[i] =
                f.color[o] * s.g_red[i] + f.color[plane + o] * s.g_green[i] + f.color[2 * plane + o] * s.g_blue[i];
            if (p.v_alpha != nullptr) s.rest[i] -= (1.0f - f.alpha[o]) * p.v_alpha[o];
            if constexpr (kDepth) {
                s.g_depth[i] = p.v_depth[o];
                s.rest[i] += f.depth[o] * s.g_depth[i];
            }
        }
}

/// Per-lane sums of one splat over the tile.
struct Sums {
    hn::Vec<D> s, sx, sy, sxx, sxy, syy, red, green, blue, depth;
    HWY_INLINE Sums() {
        const D d;
        s = sx = sy = sxx = sxy = syy = red = green = blue = depth = hn::Zero(d);
    }
};

template <bool kDepth>
HWY_INLINE void replay_row(TileReplay& state, Sums& sums, const Splat& splat, const RowTerms& terms,
                           const BlendParams& params, float dy, int row) {
    const D d;
    const auto zero = hn::Zero(d), one = hn::Set(d, 1.0f), alpha_max = hn::Set(d, params.rules.alpha_max);
    for (int lane = 0; lane < kTileSize; lane += static_cast<int>(hn::Lanes(d))) {
        const int at = row * kTileSize + lane;
        // The same arithmetic and decisions as blend_row, so the same pixels.
        const auto power = log2_alpha(terms, lane, row);
        const auto covered =
            hn::And(hn::Ge(power, hn::Set(d, params.log2_alpha_min)), hn::Le(power, hn::Set(d, terms.ceiling)));
        const auto t = hn::Load(d, state.t + at);
        const auto open = hn::And(covered, hn::Gt(t, zero));
        const auto raw_alpha = exp2(power);
        const auto alpha = hn::Min(raw_alpha, alpha_max);
        const auto weight = hn::Mul(alpha, t);
        const auto next = hn::Sub(t, weight);
        const auto limit = hn::Set(d, params.rules.transmittance_min);
        const auto ends = hn::And(open, params.rules.stop_at_equal ? hn::Le(next, limit) : hn::Lt(next, limit));
        const auto blended = hn::AndNot(ends, open);
        const auto w = hn::IfThenElseZero(blended, weight);
        hn::Store(hn::IfThenElse(ends, hn::Neg(t), hn::Sub(t, w)), d, state.t + at);

        const auto g_red = hn::Load(d, state.g_red + at), g_green = hn::Load(d, state.g_green + at),
                   g_blue = hn::Load(d, state.g_blue + at);
        auto cg = hn::Mul(g_red, hn::Set(d, splat.red));
        cg = hn::MulAdd(g_green, hn::Set(d, splat.green), cg);
        cg = hn::MulAdd(g_blue, hn::Set(d, splat.blue), cg);
        if constexpr (kDepth) cg = hn::MulAdd(hn::Load(d, state.g_depth + at), hn::Set(d, splat.depth), cg);
        const auto rest = hn::NegMulAdd(w, cg, hn::Load(d, state.rest + at));
        hn::Store(rest, d, state.rest + at);

        // 1 / (1 - alpha) by estimate and one Newton step; 1 - alpha >= 0.01.
        const auto remaining = hn::Sub(one, alpha);
        auto inverse = hn::ApproximateReciprocal(remaining);
        inverse = hn::Mul(inverse, hn::NegMulAdd(remaining, inverse, hn::Set(d, 2.0f)));
        const auto v_alpha = hn::NegMulAdd(rest, inverse, hn::Mul(t, cg));
        // The clamp at alpha_max passes no gradient.
        const auto v = hn::IfThenElseZero(hn::And(blended, hn::Lt(raw_alpha, alpha_max)), hn::Mul(v_alpha, alpha));

        const auto dx = hn::Load(d, terms.dx + lane), row_dy = hn::Set(d, dy), vx = hn::Mul(v, dx),
                   vy = hn::Mul(v, row_dy);
        sums.s = hn::Add(sums.s, v);
        sums.sx = hn::Add(sums.sx, vx);
        sums.sy = hn::Add(sums.sy, vy);
        sums.sxx = hn::MulAdd(vx, dx, sums.sxx);
        sums.sxy = hn::MulAdd(vx, row_dy, sums.sxy);
        sums.syy = hn::MulAdd(vy, row_dy, sums.syy);
        sums.red = hn::MulAdd(w, g_red, sums.red);
        sums.green = hn::MulAdd(w, g_green, sums.green);
        sums.blue = hn::MulAdd(w, g_blue, sums.blue);
        if constexpr (kDepth) sums.depth = hn::MulAdd(w, hn::Load(d, state.g_depth + at), sums.depth);
    }
}

HWY_INLINE void reduce(const Sums& sums, IsectGradient& out) {
    const D d;
    const auto total = [&](hn::Vec<D> x) { return hn::GetLane(hn::SumOfLanes(d, x)); };
    out = {total(sums.s),   total(sums.sx),    total(sums.sy),   total(sums.sxx),   total(sums.sxy), total(sums.syy),
           total(sums.red), total(sums.green), total(sums.blue), total(sums.depth), {0.0f, 0.0f}};
}

template <bool kDepth>
void blend_backward(const BlendBackwardParams& params, std::uint32_t tile) {
    const BlendParams& f = params.forward;
    const TileRect rect = tile_rect(f, tile);
    TileReplay state;
    start<kDepth>(state, rect, params);
    const std::uint32_t begin = f.tile_begin[tile], end = begin + f.list_end[tile];
    for (std::uint32_t k = begin; k < end; ++k) {
        if (k + 4 < end) hwy::Prefetch(f.splats + f.slot_from_isect[k + 4]);
        const Splat& splat = f.splats[f.slot_from_isect[k]];
        std::uint32_t rows = f.row_mask[k];  // rows where forward blended or ended a pixel
        if (rows == 0) {
            params.isect_gradients[k] = {};
            continue;
        }
        const RowTerms terms(splat, rect);
        Sums sums;
        const float dy0 = static_cast<float>(rect.y) + 0.5f - splat.y;
        for (; rows != 0; rows &= rows - 1) {
            const int row = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(rows));
            replay_row<kDepth>(state, sums, splat, terms, f, dy0 + static_cast<float>(row), row);
        }
        reduce(sums, params.isect_gradients[k]);
    }
}

void BlendTileBackward(const BlendBackwardParams& params, std::uint32_t tile) {
    if (params.v_depth != nullptr) return blend_backward<true>(params, tile);
    blend_backward<false>(params, tile);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(BlendTileBackward);
void blend_tile_backward(const BlendBackwardParams& params, std::uint32_t tile) {
    HWY_DYNAMIC_DISPATCH(BlendTileBackward)(params, tile);
}
}  // namespace gs::cpu
#endif
