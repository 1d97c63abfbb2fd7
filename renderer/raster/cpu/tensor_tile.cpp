// Blends tiles of pictures with any number of channels, and back: the squares, decisions and sums
// of blend.cpp and blend_backward.cpp, splat by splat, the channels in memory. All channels are
// taken together, so that what a pixel pulls at a splat is known whole before its sign is dropped.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/tensor_tile.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/cpu/ray_lanes.h"
#include "renderer/raster/cpu/tensor_tile.h"
#include "renderer/raster/cpu/tile_squares.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

HWY_INLINE int lanes() { return static_cast<int>(hn::Lanes(D())); }

struct ChannelSquare {
    alignas(64) float floor[kSquarePixels];  ///< as ForwardSquare
    alignas(64) float t[kSquarePixels];      ///< transmittance
    alignas(64) float rest[kSquarePixels];   ///< R of blend_backward.cpp
};
/// The pixels of a tile.
struct ChannelTile {
    ChannelSquare squares[kSquares];
    std::size_t channels;
    Buffer<float> values;  ///< [square][channel][16]: sums forward, seeds backward

    ChannelTile(const ChannelParams& p, const TileRect& rect)
        : channels(p.channels), values(kSquares * p.channels * kSquarePixels) {
        values.fill(0.0f);
        for (int i = 0; i < kSquares; ++i) {
            ChannelSquare& square = squares[i];
            start_floor(square.floor, rect, i, p.lists.log2_alpha_min);
            for (int k = 0; p.rays != nullptr && k < kSquarePixels; ++k)
                if (!p.rays->seen[i * kSquarePixels + k]) square.floor[k] = kEnded;
            std::fill_n(square.t, kSquarePixels, 1.0f);
            std::fill_n(square.rest, kSquarePixels, 0.0f);
        }
    }
    float* of_square(int square) {
        return values.data() + static_cast<std::size_t>(square) * channels * kSquarePixels;
    }
};
/// Calls f(square, pixel of the square, pixel of the picture) for the tile's pixels.
template <class F>
HWY_INLINE void for_each_pixel(const TileRect& rect, const BlendParams& p, F&& f) {
    for_each_square_row(rect, p, [&](int square, int i, int columns, std::size_t o) {
        for (int x = 0; x < columns; ++x) f(square, i + x, o + static_cast<std::size_t>(x));
    });
}

struct FlatShape {
    static constexpr std::size_t kSums = kChannels;
    struct Meeting {
        hn::Vec<D> power;  ///< log2 alpha, not limited
        hn::Vec<D> x, y;   ///< centres, from the tile's corner
    };
    TileSplat splat;
    Vec2f mean;
    std::uint32_t squares;

    HWY_INLINE FlatShape(const ChannelParams& p, std::uint32_t slot, const TileRect& rect) {
        const Splat& from = p.lists.splats[slot];
        const float x = rect.mean_x(from), y = rect.mean_y(from);
        splat.set(from, x, y);
        mean = {x, y};
        squares = squares_reached(from, x, y, p.lists.log2_alpha_min);
    }
    HWY_INLINE Meeting meet(int square, int lane) const {
        const D d;
        const auto x = hn::Load(d, kCentres.x[square % 4] + lane),
                   y = hn::Load(d, kCentres.y[square / 4] + lane);
        return {log2_alpha(splat, x, y), x, y};
    }
    /// `v`: d loss / d ln alpha.
    HWY_INLINE void add(const Meeting& at, hn::Vec<D> v, hn::Vec<D>* to) const {
        const D d;
        const auto dx = hn::Sub(at.x, hn::Set(d, mean.x)), dy = hn::Sub(at.y, hn::Set(d, mean.y)),
                   vx = hn::Mul(v, dx), vy = hn::Mul(v, dy);
        to[kV] = hn::Add(to[kV], v);
        to[kVx] = hn::Add(to[kVx], vx);
        to[kVy] = hn::Add(to[kVy], vy);
        to[kVxx] = hn::MulAdd(vx, dx, to[kVxx]);
        to[kVxy] = hn::MulAdd(vx, dy, to[kVxy]);
        to[kVyy] = hn::MulAdd(vy, dy, to[kVyy]);
        // As add_pixels of blend_backward.cpp.
        const auto a2 = hn::Set(d, 2.0f * splat.s * splat.s),
                   b = hn::Set(d, 2.0f * splat.s * splat.r),
                   c2 = hn::Set(d, 2.0f * (splat.r * splat.r + splat.w * splat.w));
        const auto slope_x = hn::MulAdd(a2, dx, hn::Mul(b, dy)),
                   slope_y = hn::MulAdd(b, dx, hn::Mul(c2, dy));
        to[kPullX] = hn::Add(to[kPullX], hn::Abs(hn::Mul(v, slope_x)));
        to[kPullY] = hn::Add(to[kPullY], hn::Abs(hn::Mul(v, slope_y)));
    }
};
struct RayShape {
    static constexpr std::size_t kSums = kRayChannels;
    struct Meeting {
        hn::Vec<D> power;
        RayMeeting at;
        RayLanes3 off, apart;
    };
    RayForm form;
    const PixelRays& rays;
    Vec3f direction;
    static constexpr std::uint32_t squares = (1u << kSquares) - 1;

    HWY_INLINE RayShape(const ChannelParams& p, std::uint32_t slot, const TileRect&)
        : form(ray_form(p.bodies[slot].whitening, p.bodies[slot].mean, p.bodies[slot].log2_opacity,
                        p.rays->origin, p.rays->direction)),
          rays(*p.rays),
          direction{static_cast<float>(rays.direction.x), static_cast<float>(rays.direction.y),
                    static_cast<float>(rays.direction.z)} {}
    /// What lies behind a ray's origin has no power.
    HWY_INLINE Meeting meet(int square, int lane) const {
        const D d;
        const int from = square * kSquarePixels + lane;
        Meeting m;
        m.off = load3(rays.directions + from, kTilePixels);
        m.apart = load3(rays.origins + from, kTilePixels);
        m.at = meet_rays<true>(form, m.off, m.apart);
        m.power =
            hn::IfThenElse(hn::Ge(m.at.distance, hn::Zero(d)), m.at.power, hn::Set(d, -kEnded));
        return m;
    }
    /// As pass_back of rays/trace_backward.cpp.
    HWY_INLINE void add(const Meeting& m, hn::Vec<D> v, hn::Vec<D>* to) const {
        const D d;
        const auto one = hn::Set(d, 1.0f);
        const RayLanes3 p = scaled3(m.at.inverse, cross3(m.at.step, m.at.aside)),
                        pull = scaled3(hn::Neg(v), p),
                        from = plus3(plus3(set3(form.offset()), hn::Set(d, form.along), m.off), one,
                                     m.apart),
                        nearest =
                            plus3(from, hn::Neg(m.at.back), plus3(set3(direction), one, m.off));
        const auto moves = hn::Ne(v, hn::Zero(d));  // what is not met may not even be finite
        const RayLanes rows[3] = {hn::IfThenElseZero(moves, pull.x),
                                  hn::IfThenElseZero(moves, pull.y),
                                  hn::IfThenElseZero(moves, pull.z)},
                       columns[3] = {hn::IfThenElseZero(moves, nearest.x),
                                     hn::IfThenElseZero(moves, nearest.y),
                                     hn::IfThenElseZero(moves, nearest.z)};
        to[kRayV] = hn::Add(to[kRayV], v);
        for (std::size_t k = 0; k < 3; ++k) {
            to[kRayArm + k] = hn::Add(to[kRayArm + k], rows[k]);
            for (std::size_t i = 0; i < 3; ++i)
                to[kRayWhitening + 3 * k + i] =
                    hn::MulAdd(rows[k], columns[i], to[kRayWhitening + 3 * k + i]);
        }
    }
};

/// A splat at one vector of pixels.
template <class Shape>
struct Blended {
    typename Shape::Meeting at;
    hn::Vec<D> w;       ///< weight, 0 where it is not blended
    hn::Vec<D> behind;  ///< transmittance behind it
    hn::Vec<D> raw;     ///< alpha before its limit
    bool open;          ///< a pixel was blended or ended
    bool ended;
};
/// Blends the splat into the pixels from `lane` on: moves floor and t.
template <class Shape>
HWY_INLINE Blended<Shape> blend_splat(ChannelSquare& at, int index, int lane, const Shape& shape,
                                      const Rules& rules) {
    const D d;
    Blended<Shape> b;
    b.at = shape.meet(index, lane);
    const auto floor = hn::Load(d, at.floor + lane), t = hn::Load(d, at.t + lane);
    const auto open = hn::Ge(b.at.power, floor);
    b.open = !hn::AllFalse(d, open);
    b.raw = exp2(b.at.power);
    b.w = hn::IfThenElseZero(open, hn::Mul(hn::Min(b.raw, rules.alpha_max), t));
    b.behind = hn::Sub(t, b.w);
    const auto ends = hn::And(open, hn::Le(b.behind, rules.transmittance_min));
    b.ended = !hn::AllFalse(d, ends);
    if (HWY_UNLIKELY(b.ended)) {
        b.w = hn::IfThenZeroElse(ends, b.w);
        b.behind = hn::IfThenElse(ends, t, b.behind);
        hn::Store(hn::IfThenElse(ends, hn::Set(d, kEnded), floor), d, at.floor + lane);
    }
    hn::Store(b.behind, d, at.t + lane);
    return b;
}

HWY_INLINE bool has_pixels_left(const ChannelSquare& square) {
    for (const float floor : square.floor)
        if (floor < kEnded) return true;
    return false;
}
/// Returns whether a pixel was blended or ended; takes the square from `alive` with its last pixel.
template <class Shape>
HWY_INLINE bool add_splat(ChannelTile& tile, int index, const Shape& shape, const float* color,
                          const Rules& rules, std::uint32_t& alive) {
    const D d;
    bool touched = false, ended = false;
    for (int lane = 0; lane < kSquarePixels; lane += lanes()) {
        const auto b = blend_splat(tile.squares[index], index, lane, shape, rules);
        if (!b.open) continue;
        touched = true;
        ended = ended || b.ended;
        float* sum = tile.of_square(index) + lane;
        for (std::size_t k = 0; k < tile.channels; ++k, sum += kSquarePixels)
            hn::Store(hn::MulAdd(b.w, hn::Set(d, color[k]), hn::Load(d, sum)), d, sum);
    }
    if (ended && !has_pixels_left(tile.squares[index])) alive &= ~(1u << index);
    return touched;
}

HWY_INLINE void write_pixels(ChannelTile& tile, const TileRect& rect, const ChannelParams& p) {
    for_each_pixel(rect, p.lists, [&](int index, int i, std::size_t o) {
        const float t = tile.squares[index].t[i];
        const float* sum = tile.of_square(index) + i;
        float* to = p.picture + o * p.channels;
        for (std::size_t k = 0; k < p.channels; ++k, sum += kSquarePixels)
            to[k] = p.background != nullptr ? *sum + t * p.background[k] : *sum;
        p.alpha[o] = 1.0f - t;
    });
}

template <class Shape>
HWY_INLINE void blend_shapes(const ChannelParams& p, std::uint32_t tile_index) {
    const BlendParams& f = p.lists;
    const TileRect rect = tile_rect(f, tile_index);
    const Rules rules(f);
    ChannelTile tile(p, rect);
    std::uint32_t alive = 0;
    for (int i = 0; i < kSquares; ++i)
        alive |= static_cast<std::uint32_t>(has_pixels_left(tile.squares[i])) << i;
    const std::uint32_t begin = f.tile_begin[tile_index], end = f.tile_begin[tile_index + 1];
    std::uint32_t k = begin;
    for (; k < end && alive != 0; ++k) {
        const std::uint32_t slot = f.slot_from_isect[k];
        const float* color = p.colors + p.entry_from_slot[slot] * p.channels;
        const Shape shape(p, slot, rect);
        std::uint32_t touched = 0, squares = shape.squares & alive;
        for (; squares != 0; squares &= squares - 1) {
            const int index = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(squares));
            if (add_splat(tile, index, shape, color, rules, alive)) touched |= 1u << index;
        }
        if (f.touched != nullptr) f.touched[k] = touched;
    }
    f.list_end[tile_index] = k - begin;
    write_pixels(tile, rect, p);
}
void BlendChannels(const ChannelParams& p, std::uint32_t tile_index) {
    p.rays != nullptr ? blend_shapes<RayShape>(p, tile_index)
                      : blend_shapes<FlatShape>(p, tile_index);
}

/// The seeds of a tile's pixels, and their R.
HWY_INLINE void read_seeds(ChannelTile& tile, const TileRect& rect,
                           const ChannelBackwardParams& p) {
    const ChannelParams& f = p.forward;
    for_each_pixel(rect, f.lists, [&](int index, int i, std::size_t o) {
        float rest = 0.0f;
        if (p.v_alpha != nullptr) rest -= (1.0f - f.alpha[o]) * p.v_alpha[o];
        if (p.v_picture != nullptr) {
            const float *color = f.picture + o * f.channels, *v = p.v_picture + o * f.channels;
            float* seed = tile.of_square(index) + i;
            for (std::size_t k = 0; k < f.channels; ++k, seed += kSquarePixels) {
                rest += color[k] * v[k];
                *seed = v[k];
            }
        }
        tile.squares[index].rest[i] = rest;
    });
}

/// Sums of one splat over the tile, a lane a pixel of a square.
template <std::size_t kSums>
struct SplatSums {
    hn::Vec<D> v[kSums];
    Buffer<float>& channels;  ///< [channel][16]
    explicit SplatSums(Buffer<float>& to) : channels(to) {
        for (auto& sum : v) sum = hn::Zero(D());
        channels.fill(0.0f);
    }
    void write(float* to, std::size_t count) const {
        const D d;
        for (std::size_t k = 0; k < kSums; ++k) to[k] = hn::GetLane(hn::SumOfLanes(d, v[k]));
        for (std::size_t k = 0; k < count; ++k) {
            auto sum = hn::Load(d, channels.data() + k * kSquarePixels);
            for (int lane = lanes(); lane < kSquarePixels; lane += lanes())
                sum = hn::Add(sum, hn::Load(d, channels.data() + k * kSquarePixels + lane));
            to[kSums + k] = hn::GetLane(hn::SumOfLanes(d, sum));
        }
    }
};
template <class Shape>
HWY_INLINE void add_square(ChannelTile& tile, int index, const Shape& shape, const float* color,
                           const Rules& rules, SplatSums<Shape::kSums>& sums) {
    const D d;
    ChannelSquare& at = tile.squares[index];
    for (int lane = 0; lane < kSquarePixels; lane += lanes()) {
        const auto b = blend_splat(at, index, lane, shape, rules);
        if (!b.open) continue;
        auto cg = hn::Zero(d);
        const float* seed = tile.of_square(index) + lane;
        float* sum = sums.channels.data() + lane;
        for (std::size_t k = 0; k < tile.channels; ++k) {
            const auto g = hn::Load(d, seed + k * kSquarePixels);
            float* to = sum + k * kSquarePixels;
            cg = hn::MulAdd(g, hn::Set(d, color[k]), cg);
            hn::Store(hn::MulAdd(b.w, g, hn::Load(d, to)), d, to);
        }
        const auto rest = hn::NegMulAdd(b.w, cg, hn::Load(d, at.rest + lane));
        hn::Store(rest, d, at.rest + lane);
        // As replay_square of blend_backward.cpp, but that a raw alpha at the limit moves.
        const auto v = hn::IfThenElseZero(hn::Le(b.raw, rules.alpha_max),
                                          hn::Mul(b.w, hn::Sub(cg, hn::Div(rest, b.behind))));
        shape.add(b.at, v, sums.v);
    }
}

template <class Shape>
HWY_INLINE void blend_shapes_backward(const ChannelBackwardParams& p, std::uint32_t tile_index) {
    const BlendParams& f = p.forward.lists;
    const TileRect rect = tile_rect(f, tile_index);
    const Rules rules(f);
    ChannelTile tile(p.forward, rect);
    read_seeds(tile, rect, p);
    const std::size_t channels = p.forward.channels, stride = Shape::kSums + channels;
    Buffer<float> scratch(channels * kSquarePixels);
    const std::uint32_t begin = f.tile_begin[tile_index], end = begin + f.list_end[tile_index];
    for (std::uint32_t k = begin; k < f.tile_begin[tile_index + 1]; ++k) {
        float* to = p.sums + f.emission_from_isect[k] * stride;
        std::uint32_t squares = k < end ? f.touched[k] : 0u;
        if (squares == 0) {
            std::fill_n(to, stride, 0.0f);
            continue;
        }
        const std::uint32_t slot = f.slot_from_isect[k];
        const Shape shape(p.forward, slot, rect);
        SplatSums<Shape::kSums> sums(scratch);
        for (; squares != 0; squares &= squares - 1)
            add_square(tile, static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(squares)), shape,
                       p.forward.colors + p.forward.entry_from_slot[slot] * channels, rules, sums);
        sums.write(to, channels);
    }
}
void BlendChannelsBackward(const ChannelBackwardParams& p, std::uint32_t tile_index) {
    p.forward.rays != nullptr ? blend_shapes_backward<RayShape>(p, tile_index)
                              : blend_shapes_backward<FlatShape>(p, tile_index);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(BlendChannels);
HWY_EXPORT(BlendChannelsBackward);
void blend_channels(const ChannelParams& params, std::uint32_t tile) {
    HWY_DYNAMIC_DISPATCH(BlendChannels)(params, tile);
}
void blend_channels_backward(const ChannelBackwardParams& params, std::uint32_t tile) {
    HWY_DYNAMIC_DISPATCH(BlendChannelsBackward)(params, tile);
}
}  // namespace gs::cpu
#endif
