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

#include "base/parallel.h"
#include "renderer/raster/cpu/lanes.h"
#include "renderer/rays/lists.h"
#include "renderer/rays/trace.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

using RayLanes = hn::Vec<D>;
struct RayLanes3 {
    RayLanes x, y, z;
};

constexpr float kHalfLog2E = 0.72134752f;  // exp(-x / 2) = 2^(-x kHalfLog2E)
constexpr float kRayEnded = 1000;          // no log2 alpha is as large

HWY_INLINE RayLanes3 load3(const float* planes, std::size_t stride) {
    const D d;
    return {hn::Load(d, planes), hn::Load(d, planes + stride), hn::Load(d, planes + 2 * stride)};
}
/// row of M times v, plus `more`.
HWY_INLINE RayLanes row_times(const float* m, const RayLanes3& v, RayLanes more) {
    const D d;
    return hn::MulAdd(hn::Set(d, m[0]), v.x,
                      hn::MulAdd(hn::Set(d, m[1]), v.y, hn::MulAdd(hn::Set(d, m[2]), v.z, more)));
}
HWY_INLINE RayLanes dot3(const RayLanes3& a, const RayLanes3& b) {
    return hn::MulAdd(a.x, b.x, hn::MulAdd(a.y, b.y, hn::Mul(a.z, b.z)));
}

HWY_INLINE RayLanes3 cross3(const RayLanes3& a, const RayLanes3& b) {
    return {hn::MulSub(a.y, b.z, hn::Mul(a.z, b.y)), hn::MulSub(a.z, b.x, hn::Mul(a.x, b.z)),
            hn::MulSub(a.x, b.y, hn::Mul(a.y, b.x))};
}

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
         hit = hn::Load(d, state + 2 * plane), median = hn::Load(d, state + 3 * plane);
    RayLanes3 signal{hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    if constexpr (kSignals) signal = load3(state + 4 * plane, plane);
    const auto ended = hn::Set(d, kRayEnded), half = hn::Set(d, kMedianTransmittance),
               nothing = hn::Zero(d);
    bool going = true;
    for (int j = 0; j < count && going; ++j) {
        const MetGaussian& g = met[which[j]];
        const auto along = hn::Set(d, g.along);
        const RayLanes3 turned{row_times(g.whitening, off, nothing),
                               row_times(g.whitening + 3, off, nothing),
                               row_times(g.whitening + 6, off, nothing)};
        const RayLanes3 step{hn::Add(turned.x, hn::Set(d, g.step[0])),
                             hn::Add(turned.y, hn::Set(d, g.step[1])),
                             hn::Add(turned.z, hn::Set(d, g.step[2]))};
        RayLanes3 arm{hn::MulAdd(along, turned.x, hn::Set(d, g.arm[0])),
                      hn::MulAdd(along, turned.y, hn::Set(d, g.arm[1])),
                      hn::MulAdd(along, turned.z, hn::Set(d, g.arm[2]))};
        if constexpr (kParted)
            arm = {row_times(g.whitening, apart, arm.x), row_times(g.whitening + 3, apart, arm.y),
                   row_times(g.whitening + 6, apart, arm.z)};
        const auto inverse = hn::Div(hn::Set(d, 1.0f), dot3(step, step)),
                   back = hn::Mul(dot3(arm, step), inverse);
        // Not |arm|^2 - (arm . step)^2 / |step|^2: an arm that points along the ray would cancel.
        const RayLanes3 aside = cross3(arm, step);
        const auto distance2 = hn::Mul(dot3(aside, aside), inverse);
        const auto power =
            hn::NegMulAdd(hn::Set(d, kHalfLog2E), distance2, hn::Set(d, g.log2_opacity));
        const auto distance = hn::Sub(along, back);
        auto open = hn::And(hn::Ge(power, floor), hn::Ge(distance, nothing));
        if (hn::AllFalse(d, open)) continue;
        auto w =
            hn::IfThenElseZero(open, hn::Mul(hn::Min(exp2(power), hn::Set(d, rules.alpha_max)), t));
        auto behind = hn::Sub(t, w);
        const auto ends = hn::And(open, hn::Le(behind, hn::Set(d, rules.transmittance_min)));
        if (HWY_UNLIKELY(!hn::AllFalse(d, ends))) {
            open = hn::AndNot(ends, open);
            w = hn::IfThenElseZero(open, w);
            behind = hn::IfThenElse(ends, t, behind);
            floor = hn::IfThenElse(ends, ended, floor);
            going = !hn::AllTrue(d, hn::Ge(floor, ended));
        }
        median = hn::IfThenElse(hn::And(hn::Ge(t, half), hn::Lt(behind, half)), distance, median);
        t = behind;
        hit = hn::MulAdd(w, hn::IfThenElseZero(open, distance), hit);
        if constexpr (kSignals)
            signal = {hn::MulAdd(w, hn::Set(d, g.signal.x), signal.x),
                      hn::MulAdd(w, hn::Set(d, g.signal.y), signal.y),
                      hn::MulAdd(w, hn::Set(d, g.signal.z), signal.z)};
    }
    hn::Store(floor, d, state);
    hn::Store(t, d, state + plane);
    hn::Store(hit, d, state + 2 * plane);
    hn::Store(median, d, state + 3 * plane);
    if constexpr (kSignals) {
        hn::Store(signal.x, d, state + 4 * plane);
        hn::Store(signal.y, d, state + 5 * plane);
        hn::Store(signal.z, d, state + 6 * plane);
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

constexpr int kPiece = 64;  // Gaussians taken from a list at once
constexpr std::size_t kStatePlanes = 7;

/// The Gaussian as this tile's rays meet it.
cpu::MetGaussian met_by(const RayTile& tile, const RayGaussian& g) {
    const Vec3d arm = tile.origin - Vec3d{g.mean.x, g.mean.y, g.mean.z};
    const double along = std::max(-dot(arm, tile.direction), 0.0);
    const Vec3d at = arm + along * tile.direction;
    cpu::MetGaussian out;
    std::copy_n(g.whitening, 9, out.whitening);
    for (int k = 0; k < 3; ++k) {
        const Vec3d row{g.whitening[3 * k], g.whitening[3 * k + 1], g.whitening[3 * k + 2]};
        out.arm[k] = static_cast<float>(dot(row, at));
        out.step[k] = static_cast<float>(dot(row, tile.direction));
    }
    out.along = static_cast<float>(along);
    out.log2_opacity = g.log2_opacity;
    out.offset = {static_cast<float>(at.x), static_cast<float>(at.y), static_cast<float>(at.z)};
    out.reach = g.reach;
    return out;
}

/// The middle ray of 16 that share a vector, and how far they part from it. As RayTiles has them:
/// what each is more than the tile's middle ray.
struct VectorRays {
    Vec3f direction, origin;
    float directions_apart = 0, origins_apart = 0;
};
float length_of(Vec3f v) { return std::sqrt(dot(v, v)); }
VectorRays vector_rays(const RayTiles& tiles, std::size_t first, std::size_t count) {
    const auto at = [&](const Buffer<float>& planes, std::size_t i) {
        return Vec3f{planes.data()[i], planes.data()[tiles.slots() + i],
                     planes.data()[2 * tiles.slots() + i]};
    };
    VectorRays out;
    const float share = 1 / static_cast<float>(count);
    for (std::size_t i = first; i < first + count; ++i) {
        out.direction += share * at(tiles.direction_off(), i);
        out.origin += share * at(tiles.origin_off(), i);
    }
    for (std::size_t i = first; i < first + count; ++i) {
        out.directions_apart =
            std::max(out.directions_apart, length_of(at(tiles.direction_off(), i) - out.direction));
        out.origins_apart =
            std::max(out.origins_apart, length_of(at(tiles.origin_off(), i) - out.origin));
    }
    return out;
}
/// Whether a ray of the vector may come within the Gaussian's reach of its mean.
bool comes_near(const VectorRays& v, Vec3f tile_direction, const cpu::MetGaussian& g) {
    const Vec3f d = tile_direction + v.direction, x = g.offset + v.origin + g.along * v.direction;
    const float along = dot(x, d), apart2 = dot(x, x) - along * along / dot(d, d);
    // As far along as any of them can meet it.
    const float farthest = 1.1f * g.along + std::abs(along) + 2 * g.reach;
    const float limit =
        1.001f * g.reach + v.origins_apart + farthest * v.directions_apart + 1e-5f * farthest;
    return apart2 <= limit * limit;
}

class Tracer {
  public:
    Tracer(const RayTiles& tiles, const RayLists& lists, std::span<const Vec3f> signals,
           const RasterRules& rules, RayImage& out)
        : tiles_(tiles), lists_(lists), signals_(signals), rules_(rules), out_(out) {}

    void tile(std::size_t index, Buffer<float>& state) {
        const RayTile& tile = tiles_.tiles()[index];
        const std::size_t slots = (tile.count + 15) / 16 * 16;
        start(tile, slots, state);
        const cpu::TileRays rays{slots,
                                 tiles_.slots(),
                                 tiles_.direction_off().data() + tile.first,
                                 tiles_.origin_off().data() + tile.first,
                                 state.data(),
                                 tile.parted,
                                 !signals_.empty()};
        cpu::MetGaussian met[kPiece];
        VectorRays vectors[cpu::kTileVectors];
        for (std::size_t k = 0; 16 * k < slots; ++k)
            vectors[k] = vector_rays(tiles_, tile.first + 16 * k,
                                     std::min<std::size_t>(16, tile.count - 16 * k));
        const Vec3f middle{static_cast<float>(tile.direction.x),
                           static_cast<float>(tile.direction.y),
                           static_cast<float>(tile.direction.z)};
        const std::vector<std::uint32_t> list = front_to_back(index);
        bool going = true;
        for (std::size_t i = 0; i < list.size() && going;) {
            int n = 0;
            for (; n < kPiece && i < list.size(); ++i, ++n) {
                const RayGaussian& g = lists_.at(list[i]);
                met[n] = met_by(tile, g);
                met[n].vectors = 0;
                for (std::size_t k = 0; 16 * k < slots; ++k)
                    met[n].vectors |=
                        static_cast<std::uint32_t>(comes_near(vectors[k], middle, met[n])) << k;
                if (!signals_.empty()) met[n].signal = signals_[g.row];
            }
            going = cpu_blend(met, n, rays);
        }
        finish(tile, slots, state.data());
    }

  private:
    std::vector<std::uint32_t> front_to_back(std::size_t tile) const {
        std::vector<std::pair<float, std::uint32_t>> by_depth;
        for (std::uint32_t i = lists_.begin[tile]; i < lists_.begin[tile + 1]; ++i) {
            const std::uint32_t gaussian = lists_.of_tile.data()[i];
            by_depth.emplace_back(lists_.at(gaussian).depth, gaussian);
        }
        std::sort(by_depth.begin(), by_depth.end());
        std::vector<std::uint32_t> out;
        for (const auto& [depth, gaussian] : by_depth) out.push_back(gaussian);
        return out;
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
                out_.signal[ray] = {state[4 * slots + i], state[5 * slots + i],
                                    state[6 * slots + i]};
        }
    }

    const RayTiles& tiles_;
    const RayLists& lists_;
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
    const RayLists lists = list_gaussians(model, tiles, order, rules);
    out.visible = lists.visible;
    out.pairs = lists.of_tile.size();
    Tracer tracer(tiles, lists, signals, rules, out);
    parallel_ranges(tiles.tiles().size(), 4, [&](std::size_t begin, std::size_t end) {
        Buffer<float> state;
        for (std::size_t t = begin; t < end; ++t) tracer.tile(t, state);
    });
    return out;
}

}  // namespace gs
#endif
