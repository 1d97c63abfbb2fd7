// Blending along rays: a tile at a time, its list in pieces, 16 rays to a vector.
//
// Where a ray comes nearest to a mean is worked out from a place near the mean: with the tile's
// middle ray (o, d) and L the distance along it to the mean, a ray (o + e, d + f) passes
// x = (o + L d - mean) + e + L f. Every term is small, so float keeps what double would, also for
// Gaussians of centimetres a hundred metres away.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/rays/trace.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "renderer/raster/cpu/ray_lanes.h"
#include "renderer/rays/lists.h"
#include "renderer/rays/met.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

constexpr float kRayEnded = 1000;  // no log2 alpha is as large

/// Blends `count` Gaussians, met[which[..]], into the rays of one vector.
template <bool kParted, bool kSignals>
HWY_INLINE void blend_rays(const MetGaussian* met, const std::uint8_t* which, int count,
                           const float* directions, const float* origins, std::size_t stride,
                           const RasterRules& rules, float* state, std::size_t plane) {
    const D d;
    const RayLanes3 off = load3(directions, stride);
    RayLanes3 apart{};
    if constexpr (kParted) apart = load3(origins, stride);
    auto floor = hn::Load(d, state), t = hn::Load(d, state + plane),
         hit = hn::Load(d, state + 2 * plane), median = hn::Load(d, state + 3 * plane),
         last = hn::Load(d, state + 4 * plane);
    RayLanes3 signal{hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    if constexpr (kSignals) signal = load3(state + 5 * plane, plane);
    const auto ended = hn::Set(d, kRayEnded), half = hn::Set(d, kMedianTransmittance),
               nothing = hn::Zero(d);
    bool going = true;
    for (int j = 0; j < count && going; ++j) {
        const MetGaussian& g = met[which[j]];
        const RayMeeting at = meet_rays<kParted>(g, off, apart);
        auto open = hn::And(hn::Ge(at.power, floor), hn::Ge(at.distance, nothing));
        if (hn::AllFalse(d, open)) continue;
        auto w = hn::IfThenElseZero(
            open, hn::Mul(hn::Min(exp2(at.power), hn::Set(d, rules.alpha_max)), t));
        auto behind = hn::Sub(t, w);
        const auto ends = hn::And(open, hn::Le(behind, hn::Set(d, rules.transmittance_min)));
        if (HWY_UNLIKELY(!hn::AllFalse(d, ends))) {
            open = hn::AndNot(ends, open);
            w = hn::IfThenElseZero(open, w);
            behind = hn::IfThenElse(ends, t, behind);
            floor = hn::IfThenElse(ends, ended, floor);
            going = !hn::AllTrue(d, hn::Ge(floor, ended));
        }
        median =
            hn::IfThenElse(hn::And(hn::Ge(t, half), hn::Lt(behind, half)), at.distance, median);
        last = hn::IfThenElse(open, hn::Set(d, g.rank), last);
        t = behind;
        hit = hn::MulAdd(w, hn::IfThenElseZero(open, at.distance), hit);
        if constexpr (kSignals)
            signal = {hn::MulAdd(w, hn::Set(d, g.signal.x), signal.x),
                      hn::MulAdd(w, hn::Set(d, g.signal.y), signal.y),
                      hn::MulAdd(w, hn::Set(d, g.signal.z), signal.z)};
    }
    hn::Store(floor, d, state);
    hn::Store(t, d, state + plane);
    hn::Store(hit, d, state + 2 * plane);
    hn::Store(median, d, state + 3 * plane);
    hn::Store(last, d, state + 4 * plane);
    if constexpr (kSignals) {
        hn::Store(signal.x, d, state + 5 * plane);
        hn::Store(signal.y, d, state + 6 * plane);
        hn::Store(signal.z, d, state + 7 * plane);
    }
}

template <bool kParted, bool kSignals>
HWY_NOINLINE bool blend_piece(const MetGaussian* met, int count, const TileRays& rays,
                              const RasterRules& rules) {
    bool any = false;
    const D d;
    const auto lanes = hn::Lanes(d);
    std::uint8_t which[256];
    for (std::size_t lane = 0; lane < rays.slots; lane += lanes) {
        float* state = rays.state + lane;
        if (hn::AllTrue(d, hn::Ge(hn::Load(d, state), hn::Set(d, kRayEnded)))) continue;
        any = true;
        int n = 0;
        for (int j = 0; j < count; ++j) {
            which[n] = static_cast<std::uint8_t>(j);
            n += static_cast<int>(met[j].vectors >> (lane / 16) & 1);
        }
        blend_rays<kParted, kSignals>(met, which, n, rays.directions + lane, rays.origins + lane,
                                      rays.stride, rules, state, rays.slots);
    }
    return any;
}

bool BlendRays(const MetGaussian* met, int count, const TileRays& rays, const RasterRules& rules) {
    if (rays.parted)
        return rays.signals ? blend_piece<true, true>(met, count, rays, rules)
                            : blend_piece<true, false>(met, count, rays, rules);
    return rays.signals ? blend_piece<false, true>(met, count, rays, rules)
                        : blend_piece<false, false>(met, count, rays, rules);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs {
namespace cpu {
HWY_EXPORT(BlendRays);
}
namespace {

constexpr std::size_t kStatePlanes = 8;

class Tracer {
  public:
    Tracer(const RayTiles& tiles, RayLists& lists, std::span<const Vec3f> signals,
           const RasterRules& rules, RayImage& out)
        : tiles_(tiles), lists_(lists), signals_(signals), rules_(rules), out_(out) {}

    void tile(std::size_t index, Buffer<float>& state) {
        const RayTile& tile = tiles_.tiles()[index];
        const TileMeets meets(tiles_, index);
        const std::size_t slots = meets.slots();
        start(tile, slots, state);
        const cpu::TileRays rays{slots,
                                 tiles_.slots(),
                                 tiles_.direction_off().data() + tile.first,
                                 tiles_.origin_off().data() + tile.first,
                                 state.data(),
                                 tile.parted,
                                 !signals_.empty()};
        cpu::MetGaussian met[kMetPiece];
        sort_front_to_back(index);
        const std::size_t begin = lists_.begin[index], end = lists_.begin[index + 1];
        bool going = true;
        for (std::size_t i = begin; i < end && going;) {
            int n = 0;
            for (; n < static_cast<int>(kMetPiece) && i < end; ++i, ++n) {
                const RayGaussian& g = lists_.at(lists_.of_tile[i]);
                met[n] = meets.met(g);
                met[n].rank = static_cast<float>(i - begin + 1);
                if (!signals_.empty()) met[n].signal = signals_[g.row];
            }
            going = cpu_blend(met, n, rays);
        }
        finish(tile, slots, state.data());
    }

  private:
    void sort_front_to_back(std::size_t tile) {
        std::vector<std::pair<float, std::uint32_t>> by_depth;
        const std::span list(lists_.of_tile.data() + lists_.begin[tile],
                             lists_.begin[tile + 1] - lists_.begin[tile]);
        for (const std::uint32_t gaussian : list)
            by_depth.emplace_back(lists_.at(gaussian).depth, gaussian);
        std::sort(by_depth.begin(), by_depth.end());
        std::transform(by_depth.begin(), by_depth.end(), list.begin(),
                       [](const auto& pair) { return pair.second; });
    }
    bool cpu_blend(const cpu::MetGaussian* met, int n, const cpu::TileRays& rays) const {
        using namespace cpu;
        return HWY_DYNAMIC_DISPATCH(BlendRays)(met, n, rays, rules_);
    }
    void start(const RayTile& tile, std::size_t slots, Buffer<float>& state) const {
        state.resize_discard(kStatePlanes * slots);
        std::fill_n(state.data(), kStatePlanes * slots, 0.0f);
        std::fill_n(state.data(), tile.count, std::log2(rules_.alpha_min));
        std::fill_n(state.data() + tile.count, slots - tile.count, 1000.0f);
        std::fill_n(state.data() + slots, slots, 1.0f);
    }
    void finish(const RayTile& tile, std::size_t slots, const float* state) const {
        for (std::size_t i = 0; i < tile.count; ++i) {
            const std::uint32_t ray = tiles_.ray_of()[tile.first + i];
            out_.transmittance[ray] = state[slots + i];
            out_.alpha[ray] = 1 - state[slots + i];
            out_.hit[ray] = state[2 * slots + i];
            out_.median[ray] = state[3 * slots + i];
            if (!signals_.empty())
                out_.signal[ray] = {state[5 * slots + i], state[6 * slots + i],
                                    state[7 * slots + i]};
            out_.last[ray] = static_cast<std::uint32_t>(state[4 * slots + i]);
        }
    }

    const RayTiles& tiles_;
    RayLists& lists_;
    std::span<const Vec3f> signals_;
    const RasterRules& rules_;
    RayImage& out_;
};

}  // namespace

RayImage trace_rays(const GaussianModel& model, std::span<const Vec3f> signals,
                    const RayTiles& tiles, const RayOrder& order, const RasterRules& rules) {
    RayImage out;
    const std::size_t n = tiles.rays();
    out.alpha.resize(n);
    out.hit.resize(n);
    out.median.resize(n);
    out.transmittance.assign(n, 1.0f);
    if (!signals.empty()) out.signal.resize(n);
    out.last.resize(n);
    const auto lists = std::make_shared<RayLists>(list_gaussians(model, tiles, order, rules));
    out.visible = lists->visible;
    out.pairs = lists->of_tile.size();
    out.lists = lists;
    Tracer tracer(tiles, *lists, signals, rules, out);
    parallel_ranges(tiles.tiles().size(), 4, [&](std::size_t begin, std::size_t end) {
        Buffer<float> state;
        for (std::size_t t = begin; t < end; ++t) tracer.tile(t, state);
    });
    return out;
}

}  // namespace gs
#endif
