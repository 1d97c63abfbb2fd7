// Blend forward: one tile at a time, front to back. The list is taken in chunks: first which of the
// tile's squares each splat of the chunk reaches, then square by square, its pixels in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/blend.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/cpu/tile_squares.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

/// What of depth is gathered. Each makes kernels of its own, so that nobody pays for what is not
/// asked for.
enum class Depths { none, expected, with_median };

/// The pixels of a square.
struct ForwardSquare {
    alignas(64) float floor[kSquarePixels];  ///< least log2 alpha that blends; kEnded once the
                                             ///< pixel has ended
    alignas(64) float t[kSquarePixels];      ///< transmittance
    alignas(64) float red[kSquarePixels], green[kSquarePixels], blue[kSquarePixels],
        depth[kSquarePixels];
    alignas(64) float median[kSquarePixels];        ///< depth; with_median only
    alignas(64) float contributors[kSquarePixels];  ///< whole numbers; counters only
};

/// Splats whose squares are found in one go.
constexpr int kChunk = 64;
struct Chunk {
    int count = 0;
    TileSplat splats[kChunk];
    alignas(64) std::uint32_t reached[kChunk];         ///< bit: square
    std::uint32_t touched[kChunk];                     ///< as BlendParams::touched
    std::uint32_t evaluated[kChunk], blended[kChunk];  ///< pairs; counters only
};

struct TileState {
    ForwardSquare squares[kSquares];
    Chunk chunk;
    std::uint32_t alive = 0;     ///< bit: square with a pixel that has not ended
    std::uint32_t list_end = 0;  ///< one past the isect that ended the last pixel that has
    std::uint64_t evaluated = 0, blended = 0;
};

template <Depths kDepths, bool kCounters>
HWY_INLINE void start(TileState& s, const TileRect& rect, float log2_alpha_min) {
    s.alive = squares_inside(rect);
    for (int i = 0; i < kSquares; ++i) {
        ForwardSquare& square = s.squares[i];
        start_floor(square.floor, rect, i, log2_alpha_min);
        std::fill_n(square.t, kSquarePixels, 1.0f);
        for (float* sum : {square.red, square.green, square.blue})
            std::fill_n(sum, kSquarePixels, 0.0f);
        if constexpr (kDepths != Depths::none) std::fill_n(square.depth, kSquarePixels, 0.0f);
        if constexpr (kDepths == Depths::with_median)
            std::fill_n(square.median, kSquarePixels, 0.0f);
        if constexpr (kCounters) std::fill_n(square.contributors, kSquarePixels, 0.0f);
    }
}

/// Brings the splats first .. first + count - 1 of the list into the chunk.
template <bool kCounters>
HWY_INLINE void fill(Chunk& chunk, const BlendParams& p, const TileRect& rect, std::uint32_t first,
                     int count) {
    chunk.count = count;
    const std::uint32_t* slots = p.slot_from_isect + first;
    for (int j = 0; j < count; ++j) {
        if (j + 4 < count) prefetch_whole(p.splats + slots[j + 4]);
        const Splat& splat = p.splats[slots[j]];
        const float x = rect.mean_x(splat), y = rect.mean_y(splat);
        chunk.splats[j].set(splat, x, y);
        chunk.reached[j] = squares_reached(splat, x, y, p.log2_alpha_min);
        chunk.touched[j] = 0;
        if constexpr (kCounters) chunk.evaluated[j] = chunk.blended[j] = 0;
    }
    // Whole vectors are listed.
    for (int j = count; j < kChunk && j % kTileSize != 0; ++j) chunk.reached[j] = 0;
}
/// Bit j: splat j of the chunk reaches `square`.
HWY_INLINE std::uint64_t splats_of_square(const Chunk& chunk, int square) {
    const hn::CappedTag<std::uint32_t, kTileSize> d;
    const auto bit = hn::Set(d, 1u << square);
    std::uint64_t splats = 0;
    for (int j = 0; j < chunk.count; j += static_cast<int>(hn::Lanes(d)))
        splats |= std::uint64_t{mask_bits(d, hn::TestBit(hn::Load(d, chunk.reached + j), bit))}
                  << j;
    return splats;
}

/// The splat behind which a pixel's transmittance first falls below one half gives its median
/// depth. `t`: before it; `behind`: behind it.
HWY_INLINE hn::Vec<D> median_depth(hn::Vec<D> median, hn::Vec<D> t, hn::Vec<D> behind,
                                   float depth) {
    const D d;
    const auto half = hn::Set(d, kMedianTransmittance);
    return hn::IfThenElse(hn::And(hn::Ge(t, half), hn::Lt(behind, half)), hn::Set(d, depth),
                          median);
}

/// One vector of a square's pixels.
template <Depths kDepths, bool kCounters>
struct Pixels {
    hn::Vec<D> y, floor, t, red, green, blue, depth, median, contributors;
    hn::Vec<D> w, behind;  ///< of the splat that is being blended

    HWY_INLINE void load(const ForwardSquare& at, int index, int lane) {
        const D d;
        y = hn::Load(d, kCentres.y[index / 4] + lane);
        floor = hn::Load(d, at.floor + lane);
        t = hn::Load(d, at.t + lane);
        red = hn::Load(d, at.red + lane);
        green = hn::Load(d, at.green + lane);
        blue = hn::Load(d, at.blue + lane);
        if constexpr (kDepths != Depths::none) depth = hn::Load(d, at.depth + lane);
        if constexpr (kDepths == Depths::with_median) median = hn::Load(d, at.median + lane);
        if constexpr (kCounters) contributors = hn::Load(d, at.contributors + lane);
    }
    HWY_INLINE void store(ForwardSquare& at, int lane) const {
        const D d;
        hn::Store(floor, d, at.floor + lane);
        hn::Store(t, d, at.t + lane);
        hn::Store(red, d, at.red + lane);
        hn::Store(green, d, at.green + lane);
        hn::Store(blue, d, at.blue + lane);
        if constexpr (kDepths != Depths::none) hn::Store(depth, d, at.depth + lane);
        if constexpr (kDepths == Depths::with_median) hn::Store(median, d, at.median + lane);
        if constexpr (kCounters) hn::Store(contributors, d, at.contributors + lane);
    }
    HWY_INLINE bool ended() const {
        const D d;
        return hn::AllTrue(d, hn::Ge(floor, hn::Set(d, kEnded)));
    }
    /// Finds w and behind; whether the splat blends or ends a pixel.
    HWY_INLINE bool meet(const TileSplat& splat, hn::Vec<D> x, const Rules& rules) {
        const D d;
        hn::Mask<D> open;
        const auto alpha = alpha_at(splat, x, y, floor, rules, open);
        w = hn::Mul(alpha, t);
        behind = hn::NegMulAdd(alpha, t, t);
        return !hn::AllFalse(d, open);
    }
    /// Ends the pixels that the splat would leave too dark; it does not blend there.
    HWY_INLINE void end(const Rules& rules) {
        const D d;
        // No pixel stands there before it ends: only open ones can.
        const auto ends = hn::Le(behind, rules.transmittance_min);
        w = hn::IfThenZeroElse(ends, w);
        behind = hn::IfThenElse(ends, t, behind);
        floor = hn::IfThenElse(ends, hn::Set(d, kEnded), floor);
    }
    /// Adds what w says; how many pixels were blended, where counters are.
    HWY_INLINE std::uint32_t add(const TileSplat& splat) {
        const D d;
        if constexpr (kDepths == Depths::with_median)
            median = median_depth(median, t, behind, splat.depth);
        t = behind;
        red = hn::MulAdd(w, hn::Set(d, splat.red), red);
        green = hn::MulAdd(w, hn::Set(d, splat.green), green);
        blue = hn::MulAdd(w, hn::Set(d, splat.blue), blue);
        if constexpr (kDepths != Depths::none)
            depth = hn::MulAdd(w, hn::Set(d, splat.depth), depth);
        if constexpr (!kCounters) return 0;
        const auto blended = hn::Gt(w, hn::Zero(d));
        contributors = hn::Add(contributors, hn::IfThenElseZero(blended, hn::Set(d, 1.0f)));
        return static_cast<std::uint32_t>(hn::CountTrue(d, blended));
    }
};

/// Vectors of a square that are blended together, so that a splat is read once for both. They
/// differ in their rows alone.
constexpr int kTogether = kLanes >= kSquareSide && kLanes < kSquarePixels ? 2 : 1;

/// Blends `splats` of the chunk (bits) into kTogether vectors of a square's pixels, from `lane` on.
/// Returns those that were not looked at because all these pixels had ended.
template <Depths kDepths, bool kCounters>
HWY_INLINE std::uint64_t blend_lanes(TileState& state, int index, int lane, std::uint64_t splats,
                                     const Rules& rules) {
    const D d;
    ForwardSquare& at = state.squares[index];
    const auto x = hn::Load(d, kCentres.x[index % 4] + lane);
    Pixels<kDepths, kCounters> a, b;
    a.load(at, index, lane);
    if constexpr (kTogether == 2) b.load(at, index, lane + kLanes);
    const auto ended = [&] { return a.ended() && (kTogether == 1 || b.ended()); };
    if (ended()) return splats;
    std::uint64_t left = 0;
    for (; splats != 0; splats &= splats - 1) {
        const auto j = hwy::Num0BitsBelowLS1Bit_Nonzero64(splats);
        const TileSplat& splat = state.chunk.splats[j];
        std::uint32_t touched = halves_if(a.meet(splat, x, rules), index, lane);
        auto least = a.behind;
        if constexpr (kTogether == 2) {
            touched |= halves_if(b.meet(splat, x, rules), index, lane + kLanes);
            least = hn::Min(least, b.behind);
        }
        state.chunk.touched[j] |= touched;
        if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Le(least, rules.transmittance_min)))) {
            a.end(rules);
            if constexpr (kTogether == 2) b.end(rules);
            if (ended()) {  // no more behind this one
                left = splats & (splats - 1);
                splats ^= left;
            }
        }
        std::uint32_t blended = a.add(splat);
        if constexpr (kTogether == 2) blended += b.add(splat);
        if constexpr (kCounters) state.chunk.blended[j] += blended;
    }
    a.store(at, lane);
    if constexpr (kTogether == 2) b.store(at, lane + kLanes);
    return left;
}

HWY_INLINE bool square_alive(const ForwardSquare& square) {
    const D d;
    for (int lane = 0; lane < kSquarePixels; lane += static_cast<int>(hn::Lanes(d)))
        if (!hn::AllTrue(d, hn::Ge(hn::Load(d, square.floor + lane), hn::Set(d, kEnded))))
            return true;
    return false;
}

/// Blends the chunk, whose first splat is isect `first` of the tile, into one square.
template <Depths kDepths, bool kCounters>
HWY_INLINE void blend_square(TileState& s, int index, std::uint32_t first, const TileRect& rect,
                             const Rules& rules) {
    const std::uint64_t splats = splats_of_square(s.chunk, index);
    std::uint64_t left = splats;
    for (int lane = 0; lane < kSquarePixels; lane += kTogether * kLanes)
        left &= blend_lanes<kDepths, kCounters>(s, index, lane, splats, rules);
    const std::uint64_t looked_at = splats & ~left;
    const auto pixels = static_cast<std::uint32_t>(square_pixels(index, rect.columns, rect.rows));
    s.evaluated += hwy::PopCount(looked_at) * pixels;
    if constexpr (kCounters)
        for (std::uint64_t bits = looked_at; bits != 0; bits &= bits - 1)
            s.chunk.evaluated[hwy::Num0BitsBelowLS1Bit_Nonzero64(bits)] += pixels;
    if (looked_at == 0 || square_alive(s.squares[index])) return;
    s.alive &= ~(1u << index);
    s.list_end = std::max(
        s.list_end,
        first + 64 - static_cast<std::uint32_t>(hwy::Num0BitsAboveMS1Bit_Nonzero64(looked_at)));
}

template <Depths kDepths, bool kCounters>
HWY_INLINE void finish(const TileState& s, const TileRect& rect, const BlendParams& p) {
    const std::size_t plane =
        static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height);
    for_each_square_row(rect, p, [&](int index, int i, int columns, std::size_t o) {
        const ForwardSquare& square = s.squares[index];
        for_each_pixels(columns, [&](auto d, std::size_t x) {
            const std::size_t from = static_cast<std::size_t>(i) + x, to = o + x;
            const auto t = hn::LoadU(d, square.t + from);
            const auto put = [&](const float* sum, float background, float* out) {
                hn::StoreU(hn::Add(hn::LoadU(d, sum + from), hn::Mul(t, hn::Set(d, background))), d,
                           out + to);
            };
            put(square.red, p.background.x, p.color);
            put(square.green, p.background.y, p.color + plane);
            put(square.blue, p.background.z, p.color + 2 * plane);
            hn::StoreU(hn::Sub(hn::Set(d, 1.0f), t), d, p.alpha + to);
        });
        if constexpr (kDepths != Depths::none) std::copy_n(square.depth + i, columns, p.depth + o);
        if constexpr (kDepths == Depths::with_median)
            std::copy_n(square.median + i, columns, p.median_depth + o);
        if constexpr (kCounters)
            for (int x = 0; x < columns; ++x)
                p.contributors[o + static_cast<std::size_t>(x)] =
                    static_cast<std::uint16_t>(square.contributors[i + x]);
    });
}

/// Tiles of other threads add to the same slots; whole numbers come out the same in any order.
HWY_INLINE void add_costs(const BlendParams& p, const Chunk& chunk, const std::uint32_t* slots) {
    for (int j = 0; j < chunk.count; ++j) {
        __atomic_fetch_add(&p.slot_evaluated[slots[j]], chunk.evaluated[j], __ATOMIC_RELAXED);
        __atomic_fetch_add(&p.slot_blended[slots[j]], chunk.blended[j], __ATOMIC_RELAXED);
    }
}

template <Depths kDepths, bool kCounters>
void blend(const BlendParams& params, std::uint32_t tile) {
    const TileRect rect = tile_rect(params, tile);
    const Rules rules(params);
    TileState s;
    start<kDepths, kCounters>(s, rect, params.log2_alpha_min);
    const std::uint32_t begin = params.tile_begin[tile], end = params.tile_begin[tile + 1];
    for (std::uint32_t k = begin; k < end && s.alive != 0; k += kChunk) {
        const int count = static_cast<int>(std::min<std::uint32_t>(kChunk, end - k));
        fill<kCounters>(s.chunk, params, rect, k, count);
        for (std::uint32_t squares = s.alive; squares != 0; squares &= squares - 1)
            blend_square<kDepths, kCounters>(
                s, static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(squares)), k - begin, rect,
                rules);
        if (params.touched != nullptr)
            for (int j = 0; j < count; ++j)
                params.touched[k + static_cast<std::uint32_t>(j)] = s.chunk.touched[j];
        if constexpr (kCounters) {
            for (int j = 0; j < count; ++j) s.blended += s.chunk.blended[j];
            if (params.slot_evaluated != nullptr)
                add_costs(params, s.chunk, params.slot_from_isect + k);
        }
    }
    params.list_end[tile] = s.alive != 0 ? end - begin : s.list_end;
    params.pairs_per_tile[tile] = static_cast<std::uint32_t>(s.evaluated);
    if (params.blended_pairs != nullptr) params.blended_pairs[tile] = s.blended;
    finish<kDepths, kCounters>(s, rect, params);
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
