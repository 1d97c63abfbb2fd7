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
    alignas(64) std::uint32_t reached[kChunk];  ///< bit: square
    std::uint32_t touched[kChunk];  ///< bit: square in which a pixel was blended or ended
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
HWY_INLINE void fill(Chunk& chunk, const BlendParams& p, const TileRect& rect, std::uint32_t first,
                     int count) {
    chunk.count = count;
    const std::uint32_t* slots = p.slot_from_isect + first;
    for (int j = 0; j < count; ++j) {
        if (j + 4 < count) hwy::Prefetch(p.splats + slots[j + 4]);
        const Splat& splat = p.splats[slots[j]];
        chunk.splats[j].set(splat, rect);
        chunk.reached[j] = squares_reached(splat, rect, p.log2_alpha_min);
        chunk.touched[j] = chunk.evaluated[j] = chunk.blended[j] = 0;
    }
    // Whole vectors are listed.
    for (int j = count; j < kChunk && j % kTileSize != 0; ++j) chunk.reached[j] = 0;
}
/// The splats of the chunk that reach `square`, in their order; returns how many.
HWY_INLINE int list_square(const Chunk& chunk, int square, std::uint32_t* list) {
    const hn::CappedTag<std::uint32_t, kTileSize> d;
    const auto bit = hn::Set(d, 1u << square);
    int n = 0;
    for (int j = 0; j < chunk.count; j += static_cast<int>(hn::Lanes(d))) {
        const auto reached = hn::TestBit(hn::Load(d, chunk.reached + j), bit);
        n += static_cast<int>(
            hn::CompressStore(hn::Iota(d, static_cast<std::uint32_t>(j)), reached, d, list + n));
    }
    return n;
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

/// Blends `count` splats of the chunk into the lanes of one vector of a square's pixels, from
/// `lane` on. Returns how many were looked at until all these pixels had ended.
template <Depths kDepths, bool kCounters>
HWY_INLINE int blend_lanes(TileState& state, int index, int lane, const std::uint32_t* list,
                           int count, const Rules& rules) {
    const D d;
    ForwardSquare& at = state.squares[index];
    const auto x = hn::Load(d, kCentres.x[index % 4] + lane),
               y = hn::Load(d, kCentres.y[index / 4] + lane), ended = hn::Set(d, kEnded);
    auto floor = hn::Load(d, at.floor + lane), t = hn::Load(d, at.t + lane),
         red = hn::Load(d, at.red + lane), green = hn::Load(d, at.green + lane),
         blue = hn::Load(d, at.blue + lane);
    auto depth = hn::Zero(d), median = depth, contributors = depth;
    if constexpr (kDepths != Depths::none) depth = hn::Load(d, at.depth + lane);
    if constexpr (kDepths == Depths::with_median) median = hn::Load(d, at.median + lane);
    if constexpr (kCounters) contributors = hn::Load(d, at.contributors + lane);
    int looked_at = 0;
    for (bool done = hn::AllTrue(d, hn::Ge(floor, ended)); looked_at < count && !done;
         ++looked_at) {
        const std::uint32_t j = list[looked_at];
        const TileSplat& splat = state.chunk.splats[j];
        const auto power = log2_alpha(splat, x, y);
        auto open = hn::Ge(power, floor);
        state.chunk.touched[j] |= static_cast<std::uint32_t>(!hn::AllFalse(d, open)) << index;
        auto w = hn::IfThenElseZero(open, hn::Mul(hn::Min(exp2(power), rules.alpha_max), t));
        auto behind = hn::Sub(t, w);
        // No pixel stands there before it ends: only open ones can.
        const auto ends = hn::Le(behind, rules.transmittance_min);
        if (HWY_UNLIKELY(!hn::AllFalse(d, ends))) {
            open = hn::AndNot(ends, open);
            w = hn::IfThenElseZero(open, w);
            behind = hn::IfThenElse(ends, t, behind);
            floor = hn::IfThenElse(ends, ended, floor);
            done = hn::AllTrue(d, hn::Ge(floor, ended));
        }
        if constexpr (kDepths == Depths::with_median)
            median = median_depth(median, t, behind, splat.depth);
        t = behind;
        red = hn::MulAdd(w, hn::Set(d, splat.red), red);
        green = hn::MulAdd(w, hn::Set(d, splat.green), green);
        blue = hn::MulAdd(w, hn::Set(d, splat.blue), blue);
        if constexpr (kDepths != Depths::none)
            depth = hn::MulAdd(w, hn::Set(d, splat.depth), depth);
        if constexpr (kCounters) {
            state.chunk.blended[j] += static_cast<std::uint32_t>(hn::CountTrue(d, open));
            contributors =
                hn::Add(contributors, hn::IfThenElseZero(hn::Gt(w, hn::Zero(d)), hn::Set(d, 1.0f)));
        }
    }
    hn::Store(floor, d, at.floor + lane);
    hn::Store(t, d, at.t + lane);
    hn::Store(red, d, at.red + lane);
    hn::Store(green, d, at.green + lane);
    hn::Store(blue, d, at.blue + lane);
    if constexpr (kDepths != Depths::none) hn::Store(depth, d, at.depth + lane);
    if constexpr (kDepths == Depths::with_median) hn::Store(median, d, at.median + lane);
    if constexpr (kCounters) hn::Store(contributors, d, at.contributors + lane);
    return looked_at;
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
    // A compressed vector is stored whole.
    alignas(64) std::uint32_t list[kChunk + kTileSize];
    const int count = list_square(s.chunk, index, list);
    int looked_at = 0;
    for (int lane = 0; lane < kSquarePixels; lane += static_cast<int>(hn::Lanes(D())))
        looked_at = std::max(looked_at,
                             blend_lanes<kDepths, kCounters>(s, index, lane, list, count, rules));
    const auto pixels = static_cast<std::uint32_t>(square_pixels(index, rect.columns, rect.rows));
    s.evaluated += static_cast<std::uint64_t>(looked_at) * pixels;
    if constexpr (kCounters)
        for (int i = 0; i < looked_at; ++i) s.chunk.evaluated[list[i]] += pixels;
    if (looked_at == 0 || square_alive(s.squares[index])) return;
    s.alive &= ~(1u << index);
    s.list_end = std::max(s.list_end, first + list[looked_at - 1] + 1);
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
        fill(s.chunk, params, rect, k, count);
        for (std::uint32_t squares = s.alive; squares != 0; squares &= squares - 1)
            blend_square<kDepths, kCounters>(
                s, static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(squares)), k - begin, rect,
                rules);
        if (params.touched != nullptr)
            for (int j = 0; j < count; ++j)
                params.touched[k + static_cast<std::uint32_t>(j)] =
                    static_cast<std::uint16_t>(s.chunk.touched[j]);
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
