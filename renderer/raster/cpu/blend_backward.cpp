// Blend backward: replays each tile front to back over exactly the squares that forward changed,
// and sums each splat's gradient over the tile's pixels. With T the transmittance before a splat
// and R what it and all splats behind it contribute, d loss / d alpha = (T (c . g) - R) / (1 -
// alpha); R starts as the whole pixel and loses each splat's own part. Where it is asked for, what
// each pixel pulls the splat's mean by is also summed without its sign.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/blend_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/cpu/tile_squares.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

/// One vector of a square's pixels; its fields lie together so that one address serves all.
struct BackwardPixels {
    alignas(4 * kLanes) float floor[kLanes];  ///< least log2 alpha that blends; kEnded once the
                                              ///< pixel has ended
    alignas(4 * kLanes) float t[kLanes];      ///< transmittance
    alignas(4 * kLanes) float rest[kLanes];   ///< R
    alignas(4 * kLanes) float x[kLanes], y[kLanes];  ///< centres, from the tile's corner
    alignas(4 * kLanes) float g_red[kLanes], g_green[kLanes], g_blue[kLanes], g_depth[kLanes];
};
/// Of a square.
constexpr int kVectors = kSquarePixels / kLanes;

template <bool kDepth>
HWY_INLINE void start(BackwardPixels* pixels, const TileRect& rect, const BlendBackwardParams& p) {
    const BlendParams& f = p.forward;
    const std::size_t plane =
        static_cast<std::size_t>(f.width) * static_cast<std::size_t>(f.height);
    const bool whole = rect.columns == kTileSize && rect.rows == kTileSize;
    for (int i = 0; i < kSquares; ++i) {
        alignas(64) float floor[kSquarePixels];
        start_floor(floor, rect, i, f.log2_alpha_min);
        for (int v = 0; v < kVectors; ++v) {
            BackwardPixels& at = pixels[i * kVectors + v];
            if (!whole) at = {};
            std::copy_n(floor + v * kLanes, kLanes, at.floor);
            std::fill_n(at.t, kLanes, 1.0f);
            std::copy_n(kCentres.x[i % 4] + v * kLanes, kLanes, at.x);
            std::copy_n(kCentres.y[i / 4] + v * kLanes, kLanes, at.y);
        }
    }
    for_each_square_row(rect, f, [&](int square, int first, int columns, std::size_t o) {
        for_each_pixels(columns, [&](auto d, std::size_t x) {
            const std::size_t pixel = static_cast<std::size_t>(square * kSquarePixels + first) + x,
                              i = pixel % kLanes, from = o + x;
            BackwardPixels& s = pixels[pixel / kLanes];
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

/// Adds what a vector of pixels gives to the gradients of a Gaussian's shape; `v`: alpha d loss / d
/// alpha, (dx, dy): from its centre.
template <bool kAbsolute>
HWY_INLINE void add_shape(const TileSplat& splat, hn::Vec<D> v, hn::Vec<D> dx, hn::Vec<D> dy,
                          Sums& sums) {
    const D d;
    const auto vx = hn::Mul(v, dx), vy = hn::Mul(v, dy);
    sums.s = hn::Add(sums.s, v);
    sums.sx = hn::Add(sums.sx, vx);
    sums.sy = hn::Add(sums.sy, vy);
    sums.sxx = hn::MulAdd(vx, dx, sums.sxx);
    sums.sxy = hn::MulAdd(vx, dy, sums.sxy);
    sums.syy = hn::MulAdd(vy, dy, sums.syy);
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
/// Adds to the sum of one channel what weight `w` gives it; returns the pixels' gradients.
HWY_INLINE hn::Vec<D> add_channel(const float* gradients, hn::Vec<D> w, hn::Vec<D>& sum) {
    const D d;
    const auto g = hn::Load(d, gradients);
    sum = hn::MulAdd(w, g, sum);
    return g;
}

/// Takes the first half of a square from `halves`, as BlendParams::touched, and returns the first
/// of its vectors; where one vector holds the square, takes both halves.
HWY_INLINE std::size_t take_half(std::uint32_t& halves) {
    const std::size_t half = hwy::Num0BitsBelowLS1Bit_Nonzero32(halves);
    halves &= halves - 1;
    if constexpr (kVectors == 1) halves &= halves - 1;
    return half * kVectors / 2;
}
HWY_INLINE hn::Vec<D> alpha_of(const BackwardPixels& at, const TileSplat& splat,
                               const Rules& rules) {
    const D d;
    hn::Mask<D> open;
    return alpha_at(splat, hn::Load(d, at.x), hn::Load(d, at.y), hn::Load(d, at.floor), rules,
                    open);
}

/// Adds what a vector of pixels with these alphas gives, and moves on what it keeps of them.
template <bool kDepth, bool kAbsolute>
HWY_INLINE void replay(BackwardPixels& at, hn::Vec<D> alpha, Sums& sums, const TileSplat& splat,
                       hn::Vec<D> mean_x, hn::Vec<D> mean_y, const Rules& rules) {
    const D d;
    const auto t = hn::Load(d, at.t);
    auto behind = hn::NegMulAdd(alpha, t, t);
    const auto ends = hn::Le(behind, rules.transmittance_min);
    if (HWY_UNLIKELY(!hn::AllFalse(d, ends))) {
        alpha = hn::IfThenZeroElse(ends, alpha);
        behind = hn::IfThenElse(ends, t, behind);
        hn::Store(hn::IfThenElse(ends, hn::Set(d, kEnded), hn::Load(d, at.floor)), d, at.floor);
    }
    hn::Store(behind, d, at.t);
    const auto w = hn::Mul(alpha, t);

    // Each gradient is used up at once: registers are few.
    auto cg = hn::Mul(add_channel(at.g_red, w, sums.red), hn::Set(d, splat.red));
    cg = hn::MulAdd(add_channel(at.g_green, w, sums.green), hn::Set(d, splat.green), cg);
    cg = hn::MulAdd(add_channel(at.g_blue, w, sums.blue), hn::Set(d, splat.blue), cg);
    if constexpr (kDepth)
        cg = hn::MulAdd(add_channel(at.g_depth, w, sums.depth), hn::Set(d, splat.depth), cg);
    // alpha d loss / d alpha. The clamp at alpha_max passes no gradient.
    const auto rest = hn::Load(d, at.rest),
               gain = hn::IfThenElseZero(hn::Lt(alpha, rules.alpha_max), hn::MulSub(cg, t, rest)),
               v = hn::Mul(gain, hn::Div(alpha, hn::Sub(hn::Set(d, 1.0f), alpha)));
    hn::Store(hn::NegMulAdd(w, cg, rest), d, at.rest);
    add_shape<kAbsolute>(splat, v, hn::Sub(hn::Load(d, at.x), mean_x),
                         hn::Sub(hn::Load(d, at.y), mean_y), sums);
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
    BackwardPixels pixels[kSquares * kVectors];
    [[maybe_unused]] BackwardPixels* reached[kSquares * kVectors];  // by one splat
    [[maybe_unused]] alignas(64) float alphas[kSquares * kVectors][kLanes];
    start<kDepth>(pixels, rect, params);
    const std::uint32_t begin = f.tile_begin[tile], end = begin + f.list_end[tile];
    for (std::uint32_t k = begin; k < end; ++k) {
        if (k + 4 < end) {
            prefetch_whole(f.splats + f.slot_from_isect[k + 4]);
            prefetch_whole(params.isect_gradients + f.emission_from_isect[k + 4]);
        }
        std::uint32_t halves = f.touched[k];  // where forward blended or ended a pixel
        if (halves == 0) {
            params.isect_gradients[f.emission_from_isect[k]] = {};
            continue;
        }
        const Splat& from = f.splats[f.slot_from_isect[k]];
        const float x = rect.mean_x(from), y = rect.mean_y(from);
        TileSplat splat;
        splat.set(from, x, y);
        const auto mean_x = hn::Set(D(), x), mean_y = hn::Set(D(), y);
        Sums sums;
        if constexpr (kVectors == 1) {
            while (halves != 0) {
                BackwardPixels& at = pixels[take_half(halves)];
                replay<kDepth, kAbsolute>(at, alpha_of(at, splat, rules), sums, splat, mean_x,
                                          mean_y, rules);
            }
        } else {
            // In two loops: the chain to alpha and the chain behind it are short enough each that a
            // processor has several vectors under way, and few registers do for each.
            int count = 0;
            while (halves != 0) {
                BackwardPixels* at = pixels + take_half(halves);
                for (int i = 0; i < std::max(1, kVectors / 2); ++i, ++count) {
                    hn::Store(alpha_of(at[i], splat, rules), D(), alphas[count]);
                    reached[count] = at + i;
                }
            }
            for (int i = 0; i < count; ++i)
                replay<kDepth, kAbsolute>(*reached[i], hn::Load(D(), alphas[i]), sums, splat,
                                          mean_x, mean_y, rules);
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
