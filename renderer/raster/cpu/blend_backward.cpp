// Blend backward: replays each tile front to back over exactly the squares that forward changed,
// and sums each splat's gradient over the tile's pixels. With T the transmittance before a splat
// and R what all splats behind it contribute, d loss / d alpha = T (c . g) - R / (1 - alpha); R
// starts as the whole pixel and loses each splat's own part. Where it is asked for, what each pixel
// pulls the splat's mean by is also summed without its sign.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/blend_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/cpu/tile_squares.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

/// The pixels of a square; its fields lie together so that one address serves all.
struct BackwardSquare {
    alignas(64) float floor[kSquarePixels];  ///< least log2 alpha that blends; kEnded once the
                                             ///< pixel has ended
    alignas(64) float t[kSquarePixels];      ///< transmittance
    alignas(64) float rest[kSquarePixels];   ///< R
    alignas(64) float x[kSquarePixels], y[kSquarePixels];  ///< centres, from the tile's corner
    alignas(64) float g_red[kSquarePixels], g_green[kSquarePixels], g_blue[kSquarePixels],
        g_depth[kSquarePixels];
};

template <bool kDepth>
HWY_INLINE void start(BackwardSquare* squares, const TileRect& rect, const BlendBackwardParams& p) {
    const BlendParams& f = p.forward;
    const std::size_t plane =
        static_cast<std::size_t>(f.width) * static_cast<std::size_t>(f.height);
    const bool whole = rect.columns == kTileSize && rect.rows == kTileSize;
    for (int i = 0; i < kSquares; ++i) {
        BackwardSquare& s = squares[i];
        if (!whole) s = {};
        start_floor(s.floor, rect, i, f.log2_alpha_min);
        std::fill_n(s.t, kSquarePixels, 1.0f);
        std::copy_n(kCentres.x[i % 4], kSquarePixels, s.x);
        std::copy_n(kCentres.y[i / 4], kSquarePixels, s.y);
    }
    for_each_square_row(rect, f, [&](int square, int first, int columns, std::size_t o) {
        BackwardSquare& s = squares[square];
        for_each_pixels(columns, [&](auto d, std::size_t x) {
            const std::size_t i = static_cast<std::size_t>(first) + x, from = o + x;
            const auto red = hn::LoadU(d, p.v_color + from),
                       green = hn::LoadU(d, p.v_color + plane + from),
                       blue = hn::LoadU(d, p.v_color + 2 * plane + from);
            auto rest = hn::Mul(hn::LoadU(d, f.color + from), red);
            rest = hn::Add(rest, hn::Mul(hn::LoadU(d, f.color + plane + from), green));
            rest = hn::Add(rest, hn::Mul(hn::LoadU(d, f.color + 2 * plane + from), blue));
            if (p.v_alpha != nullptr)
                rest =
                    hn::Sub(rest, hn::Mul(hn::Sub(hn::Set(d, 1.0f), hn::LoadU(d, f.alpha + from)),
                                          hn::LoadU(d, p.v_alpha + from)));
            if constexpr (kDepth) {
                const auto depth = hn::LoadU(d, p.v_depth + from);
                rest = hn::Add(rest, hn::Mul(hn::LoadU(d, f.depth + from), depth));
                hn::StoreU(depth, d, s.g_depth + i);
            }
            hn::StoreU(red, d, s.g_red + i);
            hn::StoreU(green, d, s.g_green + i);
            hn::StoreU(blue, d, s.g_blue + i);
            hn::StoreU(rest, d, s.rest + i);
        });
    });
}

/// Per-lane sums of one splat over the tile.
struct Sums {
    hn::Vec<D> s, sx, sy, sxx, sxy, syy, red, green, blue, depth, pull_x, pull_y;
    HWY_INLINE Sums() {
        const D d;
        s = sx = sy = sxx = sxy = syy = red = green = blue = depth = pull_x = pull_y = hn::Zero(d);
    }
};

/// Adds what pixels `lane` and on give to the gradients of a Gaussian; `w`: alpha T, `v`: alpha
/// d loss / d alpha, (dx, dy): from its centre.
template <bool kDepth, bool kAbsolute>
HWY_INLINE void add_pixels(const BackwardSquare& at, int lane, const TileSplat& splat, hn::Vec<D> w,
                           hn::Vec<D> v, hn::Vec<D> dx, hn::Vec<D> dy, Sums& sums) {
    const D d;
    const auto vx = hn::Mul(v, dx), vy = hn::Mul(v, dy);
    sums.s = hn::Add(sums.s, v);
    sums.sx = hn::Add(sums.sx, vx);
    sums.sy = hn::Add(sums.sy, vy);
    sums.sxx = hn::MulAdd(vx, dx, sums.sxx);
    sums.sxy = hn::MulAdd(vx, dy, sums.sxy);
    sums.syy = hn::MulAdd(vy, dy, sums.syy);
    sums.red = hn::MulAdd(w, hn::Load(d, at.g_red + lane), sums.red);
    sums.green = hn::MulAdd(w, hn::Load(d, at.g_green + lane), sums.green);
    sums.blue = hn::MulAdd(w, hn::Load(d, at.g_blue + lane), sums.blue);
    if constexpr (kDepth) sums.depth = hn::MulAdd(w, hn::Load(d, at.g_depth + lane), sums.depth);
    if constexpr (kAbsolute) {
        // d log2 alpha / d mean = (2 a dx + b dy, b dx + 2 c dy), of the form as Splat::s, r, w
        // make it.
        const float a2 = 2.0f * splat.s * splat.s, b = 2.0f * splat.s * splat.r,
                    c2 = 2.0f * (splat.r * splat.r + splat.w * splat.w);
        const auto slope_x = hn::MulAdd(hn::Set(d, a2), dx, hn::Mul(hn::Set(d, b), dy)),
                   slope_y = hn::MulAdd(hn::Set(d, b), dx, hn::Mul(hn::Set(d, c2), dy));
        sums.pull_x = hn::Add(sums.pull_x, hn::Abs(hn::Mul(v, slope_x)));
        sums.pull_y = hn::Add(sums.pull_y, hn::Abs(hn::Mul(v, slope_y)));
    }
}

template <bool kDepth, bool kAbsolute>
HWY_INLINE void replay_square(BackwardSquare& at, Sums& sums, const TileSplat& splat,
                              hn::Vec<D> mean_x, hn::Vec<D> mean_y, const Rules& rules) {
    const D d;
    for (int lane = 0; lane < kSquarePixels; lane += static_cast<int>(hn::Lanes(d))) {
        const auto x = hn::Load(d, at.x + lane), y = hn::Load(d, at.y + lane);
        // The same arithmetic and decisions as blend_lanes, so the same pixels.
        const auto power = log2_alpha(splat, x, y), t = hn::Load(d, at.t + lane);
        const auto open = hn::Ge(power, hn::Load(d, at.floor + lane));
        const auto raw_alpha = exp2(power);
        auto w = hn::IfThenElseZero(open, hn::Mul(hn::Min(raw_alpha, rules.alpha_max), t)),
             behind = hn::Sub(t, w);
        const auto ends = hn::Le(behind, rules.transmittance_min);
        if (HWY_UNLIKELY(!hn::AllFalse(d, ends))) {
            w = hn::IfThenElseZero(hn::AndNot(ends, open), w);
            behind = hn::IfThenElse(ends, t, behind);
            hn::Store(hn::IfThenElse(ends, hn::Set(d, kEnded), hn::Load(d, at.floor + lane)), d,
                      at.floor + lane);
        }
        hn::Store(behind, d, at.t + lane);

        auto cg = hn::Mul(hn::Load(d, at.g_red + lane), hn::Set(d, splat.red));
        cg = hn::MulAdd(hn::Load(d, at.g_green + lane), hn::Set(d, splat.green), cg);
        cg = hn::MulAdd(hn::Load(d, at.g_blue + lane), hn::Set(d, splat.blue), cg);
        if constexpr (kDepth)
            cg = hn::MulAdd(hn::Load(d, at.g_depth + lane), hn::Set(d, splat.depth), cg);
        const auto rest = hn::NegMulAdd(w, cg, hn::Load(d, at.rest + lane));
        hn::Store(rest, d, at.rest + lane);

        // alpha d loss / d alpha, with alpha T = w and T (1 - alpha) = behind, which is never 0.
        // The clamp at alpha_max passes no gradient.
        const auto v = hn::IfThenElseZero(hn::Lt(raw_alpha, rules.alpha_max),
                                          hn::Mul(w, hn::Sub(cg, hn::Div(rest, behind))));
        add_pixels<kDepth, kAbsolute>(at, lane, splat, w, v, hn::Sub(x, mean_x), hn::Sub(y, mean_y),
                                      sums);
    }
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void sum_four(hn::Vec<D> v0, hn::Vec<D> v1, hn::Vec<D> v2, hn::Vec<D> v3, float* out) {
    out[0] = hn::GetLane(v0);
    out[1] = hn::GetLane(v1);
    out[2] = hn::GetLane(v2);
    out[3] = hn::GetLane(v3);
}
#else
/// Adds up a vector's blocks of four lanes until one is left.
template <class DF, class V>
HWY_INLINE void sum_blocks(DF d, V v, float* out) {
    if constexpr (hn::MaxLanes(DF()) > 4) {
        const hn::Half<DF> half;
        sum_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), out);
    } else {
        hn::StoreU(v, d, out);
    }
}
/// Sums four vectors over their lanes: out[i] = sum of v_i. Interleaving adds lanes of two vectors
/// at a time.
HWY_INLINE void sum_four(hn::Vec<D> v0, hn::Vec<D> v1, hn::Vec<D> v2, hn::Vec<D> v3, float* out) {
    const D d;
    const hn::RepartitionToWide<D> wide;
    const auto v01 = hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1));
    const auto v23 = hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3));
    const auto w01 = hn::BitCast(wide, v01), w23 = hn::BitCast(wide, v23);
    sum_blocks(d,
               hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, w01, w23)),
                       hn::BitCast(d, hn::InterleaveUpper(wide, w01, w23))),
               out);
}
#endif
template <bool kDepth, bool kAbsolute>
HWY_INLINE void reduce(const Sums& sums, IsectGradient& out) {
    const D d;
    float* const to = &out.s;
    sum_four(sums.s, sums.sx, sums.sy, sums.sxx, to);
    sum_four(sums.sxy, sums.syy, sums.red, sums.green, to + 4);
    if constexpr (kDepth || kAbsolute) {
        sum_four(sums.blue, sums.depth, sums.pull_x, sums.pull_y, to + 8);
    } else {
        out.blue = hn::GetLane(hn::SumOfLanes(d, sums.blue));
        out.depth = out.absolute[0] = out.absolute[1] = 0.0f;
    }
}

template <bool kDepth, bool kAbsolute>
void blend_backward(const BlendBackwardParams& params, std::uint32_t tile) {
    const BlendParams& f = params.forward;
    const TileRect rect = tile_rect(f, tile);
    const Rules rules(f);
    BackwardSquare pixels[kSquares];
    start<kDepth>(pixels, rect, params);
    const std::uint32_t begin = f.tile_begin[tile], end = begin + f.list_end[tile];
    for (std::uint32_t k = begin; k < end; ++k) {
        if (k + 4 < end) hwy::Prefetch(f.splats + f.slot_from_isect[k + 4]);
        std::uint32_t squares = f.touched[k];  // where forward blended or ended a pixel
        if (squares == 0) {
            params.isect_gradients[f.emission_from_isect[k]] = {};
            continue;
        }
        const Splat& from = f.splats[f.slot_from_isect[k]];
        TileSplat splat;
        splat.set(from, rect);
        const auto mean_x = hn::Set(D(), rect.mean_x(from)),
                   mean_y = hn::Set(D(), rect.mean_y(from));
        Sums sums;
        for (; squares != 0; squares &= squares - 1) {
            const int square = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(squares));
            replay_square<kDepth, kAbsolute>(pixels[square], sums, splat, mean_x, mean_y, rules);
        }
        reduce<kDepth, kAbsolute>(sums, params.isect_gradients[f.emission_from_isect[k]]);
    }
    // Isects behind the tile's end drew nothing.
    for (std::uint32_t k = end; k < f.tile_begin[tile + 1]; ++k)
        params.isect_gradients[f.emission_from_isect[k]] = {};
}

void BlendTileBackward(const BlendBackwardParams& params, std::uint32_t tile) {
    const bool depth = params.v_depth != nullptr;
    if (params.absolute)
        return depth ? blend_backward<true, true>(params, tile)
                     : blend_backward<false, true>(params, tile);
    return depth ? blend_backward<true, false>(params, tile)
                 : blend_backward<false, false>(params, tile);
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
