// Backward of trace.cpp: a tile at a time, its list back to front. What a tile gives each of its
// Gaussians is kept apart, and added up by Gaussian when all tiles are done, in their order: so
// sums do not depend on who did what.
//
// The loss of a ray is the sum over its Gaussians of w q, with q what a unit of weight is worth
// there. With a = M x, s = M d, b = a . s / |s|^2 and p = a - b s, the nearest place in the
// Gaussian's own measure: D^2 = |p|^2, and the distance is L - b (trace.cpp). With c = 2 dloss/dD^2
// and h = dloss/ddistance / |s|^2:
//   dloss/da = c p - h s,   dloss/dM = (c p - h s) (x - b d)' - h p d'.
// Every term is small where x is near the mean.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/rays/trace_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <algorithm>
#include <cmath>
#include <span>

#include "base/parallel.h"
#include "renderer/raster/cpu/ray_lanes.h"
#include "renderer/rays/lists.h"
#include "renderer/rays/met.h"
#include "renderer/rays/ray_sums.h"

#ifndef GS_RAYS_TRACE_BACKWARD_TYPES_
#define GS_RAYS_TRACE_BACKWARD_TYPES_
namespace gs::cpu {

/// Planes of a tile's state on the way back.
enum BackwardPlane : std::size_t {
    kBackLast,           ///< rank of the last Gaussian blended
    kBackTransmittance,  ///< behind the Gaussian under way
    kBackBehind,         ///< what everything farther back adds to the loss
    kBackHit,            ///< dloss/d sum of weight x distance
    kBackMiddle,         ///< a distance amid the ray's Gaussians
    kBackWorth,          ///< of a unit of weight there
    kBackMeasured,
    kBackOff,  ///< sum of weight x distance from it
    kBackSignal,
    kBackPlanes = kBackSignal + 3
};
struct TileRaysBack {
    TileRays rays;  ///< its `state` has BackwardPlanes
    Vec3f direction;
    float pull, far;  ///< RayImageGradient's
};

}  // namespace gs::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

/// Sums over rays, a lane each.
struct LaneSums {
    RayLanes3 arm, whitening[3], signal;
    RayLanes logit;
};
/// sums + left right^T, by rows.
HWY_INLINE void add_outer(RayLanes3 (&sums)[3], const RayLanes3& left, const RayLanes3& right) {
    const RayLanes rows[3] = {left.x, left.y, left.z};
    for (int k = 0; k < 3; ++k)
        sums[k] = {hn::MulAdd(rows[k], right.x, sums[k].x), hn::MulAdd(rows[k], right.y, sums[k].y),
                   hn::MulAdd(rows[k], right.z, sums[k].z)};
}
HWY_INLINE void reduce3(const RayLanes3& v, float* out) {
    const D d;
    out[0] = hn::GetLane(hn::SumOfLanes(d, v.x));
    out[1] = hn::GetLane(hn::SumOfLanes(d, v.y));
    out[2] = hn::GetLane(hn::SumOfLanes(d, v.z));
}

/// Takes the rays of one vector back over `g`. False: none of them had blended it.
template <bool kParted, bool kSignals>
HWY_INLINE bool pass_back(const MetGaussian& g, const TileRaysBack& back, std::size_t lane,
                          const RasterRules& rules, LaneSums& sums) {
    const D d;
    const TileRays& rays = back.rays;
    float* state = rays.state + lane;
    const auto plane = [&](std::size_t p) { return state + p * rays.slots; };
    auto open = hn::Le(hn::Set(d, g.rank), hn::Load(d, plane(kBackLast)));
    if (hn::AllFalse(d, open)) return false;
    const RayLanes3 off = load3(rays.directions + lane, rays.stride);
    RayLanes3 apart{hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    if constexpr (kParted) apart = load3(rays.origins + lane, rays.stride);
    const RayMeeting at = meet_rays<kParted>(g, off, apart);
    open = hn::And(open, hn::And(hn::Ge(at.power, hn::Set(d, std::log2(rules.alpha_min))),
                                 hn::Ge(at.distance, hn::Zero(d))));
    if (hn::AllFalse(d, open)) return false;

    const auto one = hn::Set(d, 1.0f), raw = hn::IfThenElseZero(open, exp2(at.power)),
               most = hn::Set(d, rules.alpha_max), alpha = hn::Min(raw, most),
               passes = hn::Div(one, hn::Sub(one, alpha)),
               t = hn::Mul(hn::Load(d, plane(kBackTransmittance)), passes), w = hn::Mul(alpha, t);
    const auto pull = hn::Set(d, back.pull), far = hn::Set(d, back.far),
               past = hn::Sub(at.distance, hn::Load(d, plane(kBackMeasured))),
               amiss = hn::Min(hn::Abs(past), far);
    auto v_hit = hn::Load(d, plane(kBackHit));
    auto worth = hn::MulAdd(v_hit, hn::Sub(at.distance, hn::Load(d, plane(kBackMiddle))),
                            hn::MulAdd(pull, amiss, hn::Load(d, plane(kBackWorth))));
    v_hit = hn::Add(v_hit, hn::IfThenElseZero(hn::Lt(amiss, far), hn::CopySign(pull, past)));
    if constexpr (kSignals) {
        const RayLanes3 v_signal = load3(plane(kBackSignal), rays.slots);
        worth = hn::Add(worth, dot3(v_signal, set3(g.signal)));
        sums.signal = plus3(sums.signal, w, v_signal);
    }
    const auto behind = hn::Load(d, plane(kBackBehind));
    auto v_alpha = hn::NegMulAdd(behind, passes, hn::Mul(t, worth));
    v_alpha = hn::IfThenElseZero(hn::And(open, hn::Lt(raw, most)), hn::Mul(v_alpha, raw));
    hn::Store(hn::IfThenElse(open, t, hn::Load(d, plane(kBackTransmittance))), d,
              plane(kBackTransmittance));
    hn::Store(hn::IfThenElse(open, hn::MulAdd(w, worth, behind), behind), d, plane(kBackBehind));
    hn::Store(hn::MulAdd(w, amiss, hn::Load(d, plane(kBackOff))), d, plane(kBackOff));

    // v_alpha is dloss/d log alpha by now, and dalpha/dD^2 = -alpha / 2: c = -v_alpha.
    sums.logit = hn::Add(sums.logit, v_alpha);
    const auto c = hn::Neg(v_alpha),
               h = hn::IfThenElseZero(open, hn::Mul(hn::Mul(w, v_hit), at.inverse));
    const RayLanes3 p = scaled3(at.inverse, cross3(at.step, at.aside)),
                    v_arm = plus3(scaled3(c, p), hn::Neg(h), at.step),
                    direction = plus3(set3(back.direction), one, off),
                    from = plus3(plus3(set3(g.offset()), hn::Set(d, g.along), off), one, apart),
                    nearest = plus3(from, hn::Neg(at.back), direction);
    const RayLanes3 masked{hn::IfThenElseZero(open, v_arm.x), hn::IfThenElseZero(open, v_arm.y),
                           hn::IfThenElseZero(open, v_arm.z)};
    const auto h_p = scaled3(hn::Neg(h), p);
    const RayLanes3 turned{hn::IfThenElseZero(open, h_p.x), hn::IfThenElseZero(open, h_p.y),
                           hn::IfThenElseZero(open, h_p.z)};
    sums.arm = plus3(sums.arm, one, masked);
    add_outer(sums.whitening, masked, nearest);
    add_outer(sums.whitening, turned, direction);
    return true;
}

template <bool kParted, bool kSignals>
HWY_NOINLINE void back_piece(const MetGaussian* met, int count, const TileRaysBack& back,
                             const RasterRules& rules, RaySums* out) {
    const D d;
    const auto zero = hn::Zero(d);
    const RayLanes3 none{zero, zero, zero};
    for (int j = 0; j < count; ++j) {
        const MetGaussian& g = met[j];
        LaneSums sums{none, {none, none, none}, none, zero};
        bool any = false;
        for (std::size_t lane = 0; lane < back.rays.slots; lane += hn::Lanes(d))
            if ((g.vectors >> (lane / 16) & 1) != 0)
                any |= pass_back<kParted, kSignals>(g, back, lane, rules, sums);
        out[j] = {};
        if (!any) continue;
        reduce3(sums.arm, out[j].arm);
        for (int k = 0; k < 3; ++k) reduce3(sums.whitening[k], out[j].whitening + 3 * k);
        out[j].logit = hn::GetLane(hn::SumOfLanes(d, sums.logit));
        if constexpr (kSignals) reduce3(sums.signal, out[j].signal);
    }
}

void BackRays(const MetGaussian* met, int count, const TileRaysBack& back, const RasterRules& rules,
              RaySums* out) {
    if (back.rays.parted)
        return back.rays.signals ? back_piece<true, true>(met, count, back, rules, out)
                                 : back_piece<true, false>(met, count, back, rules, out);
    return back.rays.signals ? back_piece<false, true>(met, count, back, rules, out)
                             : back_piece<false, false>(met, count, back, rules, out);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs {
namespace cpu {
HWY_EXPORT(BackRays);
}
namespace {

class BackTracer {
  public:
    BackTracer(const RayTiles& tiles, std::span<const Vec3f> signals, const RasterRules& rules,
               const RayImage& image, const RayImageGradient& v, RaysBackward& out)
        : tiles_(tiles),
          lists_(*image.lists),
          signals_(signals),
          rules_(rules),
          image_(image),
          v_(v),
          out_(out),
          sums_(lists_.of_tile.size()) {}

    void tile(std::size_t index, Buffer<float>& state) {
        const RayTile& tile = tiles_.tiles()[index];
        const TileMeets meets(tiles_, index);
        const std::size_t first = lists_.begin[index], all = lists_.begin[index + 1] - first,
                          deepest = start(tile, meets.slots(), state);
        std::fill_n(sums_.data() + first, all, cpu::RaySums{});
        const cpu::TileRaysBack back{
            {meets.slots(), tiles_.slots(), tiles_.direction_off().data() + tile.first,
             tiles_.origin_off().data() + tile.first, state.data(), tile.parted, !signals_.empty()},
            {static_cast<float>(tile.direction.x), static_cast<float>(tile.direction.y),
             static_cast<float>(tile.direction.z)},
            v_.pull,
            v_.far};
        cpu::MetGaussian met[kMetPiece];
        cpu::RaySums sums[kMetPiece];
        for (std::size_t rank = deepest; rank > 0;) {
            const std::size_t n = std::min(rank, kMetPiece);
            for (std::size_t j = 0; j < n; ++j) {
                const RayGaussian& g = lists_.at(lists_.of_tile[first + rank - 1 - j]);
                met[j] = meets.met(g);
                met[j].rank = static_cast<float>(rank - j);
                if (!signals_.empty()) met[j].signal = signals_[g.row];
            }
            {
                using namespace cpu;
                HWY_DYNAMIC_DISPATCH(BackRays)(met, static_cast<int>(n), back, rules_, sums);
            }
            for (std::size_t j = 0; j < n; ++j) sums_[first + rank - 1 - j] = sums[j];
            rank -= n;
        }
        for (std::size_t i = 0; i < tile.count; ++i)
            out_.off[tiles_.ray_of()[tile.first + i]] = state[cpu::kBackOff * meets.slots() + i];
    }
    /// [place in RayLists::of_tile].
    const Buffer<cpu::RaySums>& sums() const { return sums_; }

  private:
    /// The rank of the last Gaussian that any of its rays blended.
    std::size_t start(const RayTile& tile, std::size_t slots, Buffer<float>& state) const {
        using namespace cpu;
        state.resize_discard(kBackPlanes * slots);
        state.fill(0);
        std::size_t deepest = 0;
        for (std::size_t i = 0; i < tile.count; ++i) {
            const std::uint32_t ray = tiles_.ray_of()[tile.first + i];
            const auto at = [&](std::size_t plane) -> float& { return state[plane * slots + i]; };
            const double v_hit = v_.hit.empty() ? 0 : v_.hit[ray],
                         v_alpha = v_.alpha.empty() ? 0 : v_.alpha[ray];
            const float alpha = image_.alpha[ray],
                        middle = alpha > 1e-6f ? image_.hit[ray] / alpha : 0;
            at(kBackLast) = static_cast<float>(image_.last[ray]);
            at(kBackTransmittance) = image_.transmittance[ray];
            at(kBackHit) = static_cast<float>(v_hit);
            at(kBackMiddle) = middle;
            at(kBackWorth) = static_cast<float>(v_alpha + v_hit * static_cast<double>(middle));
            if (!v_.measured.empty()) at(kBackMeasured) = v_.measured[ray];
            if (!v_.signal.empty()) {
                at(kBackSignal) = v_.signal[ray].x;
                at(kBackSignal + 1) = v_.signal[ray].y;
                at(kBackSignal + 2) = v_.signal[ray].z;
            }
            deepest = std::max<std::size_t>(deepest, image_.last[ray]);
        }
        return deepest;
    }

    const RayTiles& tiles_;
    const RayLists& lists_;
    std::span<const Vec3f> signals_;
    const RasterRules& rules_;
    const RayImage& image_;
    const RayImageGradient& v_;
    RaysBackward& out_;
    Buffer<cpu::RaySums> sums_;
};

}  // namespace

RaysBackward trace_rays_backward(const GaussianModel& model, std::span<const Vec3f> signals,
                                 const RayTiles& tiles, const RasterRules& rules,
                                 const RayImage& image, const RayImageGradient& v,
                                 GradientSink& sink) {
    RaysBackward out;
    out.off.assign(tiles.rays(), 0.0f);
    if (!signals.empty()) out.signals.assign(model.count, Vec3f{});
    const RayLists& lists = *image.lists;
    BackTracer tracer(tiles, signals, rules, image, v, out);
    parallel_ranges(tiles.tiles().size(), 4, [&](std::size_t begin, std::size_t end) {
        Buffer<float> state;
        for (std::size_t t = begin; t < end; ++t) tracer.tile(t, state);
    });
    give_gradients(model, lists, tracer.sums(), sink, out.signals);
    return out;
}

}  // namespace gs
#endif
