#include "trainer/adam/adam_block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/adam/adam_block.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <hwy/highway.h>
// highway first
#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace gs::adam::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kBlock>;
using V = hn::Vec<D>;

/// What the lanes of one vector slept through.
struct Sleep {
    V pending[kLearningGroups], decay1, decay2;
    hn::Mask<D> slept;  ///< a step at least

    HWY_INLINE Sleep(const Block& b, std::size_t lane) {
        const D d;
        const hn::RebindToSigned<D> di;
        HWY_ALIGN std::int32_t slot[kBlock], age[kBlock];
        for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
            slot[i] = static_cast<std::int32_t>(b.last_step[lane + i] - b.base);
            age[i] = static_cast<std::int32_t>(b.steps - b.last_step[lane + i]);
        }
        const auto slots = hn::Load(di, slot), ages = hn::Load(di, age);
        for (int g = 0; g < kLearningGroups; ++g)
            pending[g] = hn::GatherIndex(d, b.pending[g], slots);
        slept = hn::RebindMask(d, hn::Gt(ages, hn::Zero(di)));
        decay1 = hn::GatherIndex(d, b.decay1, ages);
        decay2 = hn::GatherIndex(d, b.decay2, ages);
    }
};

using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;
using DCode = hn::Rebind<std::uint16_t, D>;

template <class Short>
HWY_INLINE V value_of(VU code) {
    const DU du;
    const V sum =
        hn::BitCast(D(), hn::Add(hn::ShiftLeft<Short::kShift>(code), hn::Set(du, Short::kFirst)));
    return hn::Sub(sum, hn::Set(D(), Short::unit()));
}
template <class Short>
HWY_INLINE VU code_of(V x, VU random) {
    const DU du;
    const VU bits = hn::BitCast(du, hn::Add(x, hn::Set(D(), Short::unit()))),
             up = hn::And(random, hn::Set(du, Short::kRest));
    return hn::Min(
        hn::ShiftRight<Short::kShift>(hn::Sub(hn::Add(bits, up), hn::Set(du, Short::kFirst))),
        hn::Set(du, Short::kMost));
}
/// math::hash32().
HWY_INLINE VU hash(VU x) {
    const DU du;
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(du, 0x7FEB352Du));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(du, 0x846CA68Bu));
    return hn::Xor(x, hn::ShiftRight<16>(x));
}

struct Moments {
    V m, v;
};
/// math::decode_direction().
HWY_INLINE V decoded_direction(VU code) {
    using math::RatioCode, math::SquareCode;
    const DU du;
    const VU ratio =
                 hn::And(hn::ShiftRight<SquareCode::kBits>(code), hn::Set(du, RatioCode::kMost)),
             sign = hn::ShiftLeft<16>(hn::And(code, hn::Set(du, 0x8000u)));
    return hn::Or(value_of<RatioCode>(ratio), hn::BitCast(D(), sign));
}
/// math::decode_moments().
HWY_INLINE Moments decoded(VU code) {
    const VU square = hn::And(code, hn::Set(DU(), math::SquareCode::kMost));
    const V v = value_of<math::SquareCode>(square);
    return {hn::Mul(decoded_direction(code), hn::Sqrt(v)), v};
}
/// math::encode_moments().
HWY_INLINE VU encoded(Moments x, VU random) {
    using math::RatioCode, math::SquareCode;
    const D d;
    const DU du;
    const VU square = code_of<SquareCode>(x.v, random);
    const V root = hn::Sqrt(value_of<SquareCode>(square));
    const auto none = hn::Eq(square, hn::Zero(du));
    // Never 0 / 0, and of a ratio beyond the last code as much as an integer holds.
    const V ratio = hn::Div(hn::IfThenZeroElse(hn::RebindMask(d, none), hn::Abs(x.m)),
                            hn::Max(root, hn::Set(d, 1e-15f)));
    const VU code = code_of<RatioCode>(hn::Min(ratio, hn::Set(d, 100.0f)),
                                       hn::ShiftRight<32 - RatioCode::kShift>(random));
    const VU sign = hn::IfThenZeroElse(
        hn::Eq(code, hn::Zero(du)),
        hn::ShiftRight<16>(hn::And(hn::BitCast(du, x.m), hn::Set(du, 0x80000000u))));
    return hn::Or(hn::Or(square, hn::ShiftLeft<SquareCode::kBits>(code)), sign);
}

HWY_INLINE float* moments_of(const Block& b, int plane, std::size_t lane) {
    return b.moments + static_cast<std::size_t>(plane) * 2 * kBlock + lane;
}
HWY_INLINE std::uint16_t* codes_of(const Block& b, int plane, std::size_t lane) {
    return b.codes + static_cast<std::size_t>(plane) * kBlock + lane;
}
HWY_INLINE Moments load_moments(const Block& b, int plane, std::size_t lane) {
    const D d;
    if (b.moments == nullptr)
        return decoded(hn::PromoteTo(DU(), hn::Load(DCode(), codes_of(b, plane, lane))));
    const float* at = moments_of(b, plane, lane);
    return {hn::Load(d, at), hn::Load(d, at + kBlock)};
}
/// What the lanes' codes are rounded by once `steps` steps are done: math::row_rounding().
HWY_INLINE VU rounding_of(const Block& b, std::size_t lane, std::uint32_t steps) {
    HWY_ALIGN std::uint32_t rows[kBlock] = {};
    for (std::size_t i = 0; b.codes != nullptr && i < hn::Lanes(DU()); ++i)
        rows[i] = math::row_rounding(b.seed, steps, b.tags[lane + i]);
    return hn::Load(DU(), rows);
}
/// In the lanes of `active`; the others keep `before`.
template <class Mask>
HWY_INLINE void store_moments(const Block& b, int plane, std::size_t lane, Mask active, Moments now,
                              Moments before, VU rounding) {
    const D d;
    if (b.moments == nullptr) {
        const DU du;
        std::uint16_t* at = codes_of(b, plane, lane);
        const VU random =
            hash(hn::Add(rounding, hn::Set(du, static_cast<std::uint32_t>(plane) * 0x9E3779B9u)));
        const VU kept = hn::PromoteTo(du, hn::Load(DCode(), at));
        const VU code = hn::IfThenElse(hn::RebindMask(du, active), encoded(now, random), kept);
        hn::Store(hn::DemoteTo(DCode(), hn::BitCast(hn::RebindToSigned<D>(), code)), DCode(), at);
        return;
    }
    float* at = moments_of(b, plane, lane);
    hn::Store(hn::IfThenElse(active, now.m, before.m), d, at);
    hn::Store(hn::IfThenElse(active, now.v, before.v), d, at + kBlock);
}
/// 1 / (sqrt(v) + eps). The square root and the division are what Adam costs, so where the
/// processor has a reciprocal square root estimate that one Newton step makes exact to float, that
/// is used: y - eps y^2 is 1 / (1/y + eps) to (eps y)^2.
HWY_INLINE V inverse_root(V v, V epsilon) {
    const D d;
    if constexpr (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3) {
        const V x = hn::Max(v, hn::Set(d, 1e-28f));
        const V estimate = hn::ApproximateReciprocalSqrt(x);
        const V half = hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), estimate);
        const V y = hn::MulAdd(hn::NegMulAdd(half, estimate, hn::Set(d, 0.5f)), estimate, estimate);
        return hn::NegMulAdd(hn::Mul(epsilon, y), y, y);
    } else {
        return hn::Div(hn::Set(d, 1.0f), hn::Add(hn::Sqrt(v), epsilon));
    }
}
/// m / (sqrt(v) + eps): the direction a Gaussian drifts in while it sleeps.
HWY_INLINE V direction(V m, V v) { return hn::Mul(m, inverse_root(v, hn::Set(D(), kEpsilon))); }
HWY_INLINE V direction(const Block& b, int plane, std::size_t lane) {
    if (b.moments == nullptr)
        return decoded_direction(hn::PromoteTo(DU(), hn::Load(DCode(), codes_of(b, plane, lane))));
    const auto [m, v] = load_moments(b, plane, lane);
    return direction(m, v);
}

void CatchUp(const Block& b, int first, int count, float* out) {
    const D d;
    for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
        const Sleep sleep(b, lane);
        for (int p = first; p < first + count; ++p) {
            const V u = direction(b, p, lane);
            const V value = hn::LoadU(d, b.values + static_cast<std::size_t>(p) * b.stride + lane);
            hn::Store(hn::NegMulAdd(u, sleep.pending[group_of_plane(p)], value), d,
                      out + static_cast<std::size_t>(p - first) * kBlock + lane);
        }
    }
}

void Settle(const Block& b, int planes) {
    const D d;
    for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
        const Sleep sleep(b, lane);
        const VU rounding = rounding_of(b, lane, b.steps);
        for (int p = 0; p < planes; ++p) {
            float* value = b.values + static_cast<std::size_t>(p) * b.stride + lane;
            const auto [m, v] = load_moments(b, p, lane);
            hn::StoreU(hn::NegMulAdd(direction(m, v), sleep.pending[group_of_plane(p)],
                                     hn::LoadU(d, value)),
                       d, value);
            store_moments(b, p, lane, sleep.slept,
                          {hn::Mul(m, sleep.decay1), hn::Mul(v, sleep.decay2)}, {m, v}, rounding);
        }
    }
    std::fill_n(b.last_step, kBlock, b.steps);
}

/// Bits of the lanes whose gradients are all finite and not absurd.
std::uint32_t finite_lanes(const BlockGradients& gradients, int planes) {
    const D d;
    std::uint32_t bits = 0;
    for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
        V largest = hn::Zero(d), poison = hn::Zero(d);
        for (int p = 0; p < planes; ++p) {
            const V g = hn::Load(d, gradients.planes[p] + lane);
            largest = hn::Max(largest, hn::Abs(g));
            poison = hn::MulAdd(g, hn::Zero(d), poison);  // NaN once any is NaN or infinite
        }
        const auto good =
            hn::And(hn::Lt(largest, hn::Set(d, kLargestGradient)), hn::Eq(poison, hn::Zero(d)));
        std::uint8_t packed[8] = {};
        hn::StoreMaskBits(d, good, packed);
        bits |= (packed[0] | static_cast<std::uint32_t>(packed[1]) << 8) << lane;
    }
    return bits & 0xffffu;
}

bool current(const Block& b) {
    return std::all_of(b.last_step, b.last_step + kBlock,
                       [&](std::uint32_t step) { return step == b.steps; });
}

/// Lane i of the vector at `lane`: bit lane + i.
HWY_INLINE hn::Mask<D> mask_at(std::uint32_t bits, std::size_t lane) {
    const std::uint32_t own = (bits >> lane) & ((2u << (hn::Lanes(D()) - 1)) - 1u);
    const std::uint8_t packed[8] = {static_cast<std::uint8_t>(own),
                                    static_cast<std::uint8_t>(own >> 8)};
    return hn::LoadMaskBits(D(), packed);
}

/// The step of the lanes of one vector that are in `good`; `kCurrent`: none of them slept.
template <bool kCurrent>
HWY_INLINE void step_lanes(const Block& b, const Step& step, const BlockGradients& gradients,
                           std::size_t lane, std::uint32_t good) {
    const D d;
    const V beta1 = hn::Set(d, step.betas.beta1), beta2 = hn::Set(d, step.betas.beta2);
    const V rest1 = hn::Set(d, step.betas.rest1), rest2 = hn::Set(d, step.betas.rest2);
    const V epsilon = hn::Set(d, step.epsilon);
    const auto active = mask_at(good, lane), seen = mask_at(gradients.mask, lane);
    const Sleep sleep(b, lane);
    const VU rounding = rounding_of(b, lane, b.steps + 1);
    for (int p = 0; p < step.planes; ++p) {
        float* value_at = b.values + static_cast<std::size_t>(p) * b.stride + lane;
        const int group = group_of_plane(p);
        const auto [m, v] = load_moments(b, p, lane);
        const V value = hn::LoadU(d, value_at);
        const V g = hn::IfThenElseZero(seen, hn::Load(d, gradients.planes[p] + lane));
        V awake = value, m0 = m, v0 = v;
        if constexpr (!kCurrent) {
            awake = hn::NegMulAdd(direction(m, v), sleep.pending[group], value);
            m0 = hn::Mul(m, sleep.decay1);
            v0 = hn::Mul(v, sleep.decay2);
        }
        const V m1 = hn::MulAdd(beta1, m0, hn::Mul(rest1, g));
        const V v1 = hn::MulAdd(beta2, v0, hn::Mul(rest2, hn::Mul(g, g)));
        const V move =
            hn::Mul(hn::Mul(hn::Set(d, step.rate[group]), m1), inverse_root(v1, epsilon));
        hn::StoreU(hn::IfThenElse(active, hn::Sub(awake, move), value), d, value_at);
        store_moments(b, p, lane, active, {m1, v1}, {m, v}, rounding);
    }
}

std::uint32_t Apply(const Block& b, const Step& step, const BlockGradients& gradients,
                    std::uint32_t locked) {
    const D d;
    // Codes of lanes without gradients stay as they are: each storing rounds them once more.
    const std::uint32_t along = b.moments != nullptr ? ~gradients.mask & 0xffffu : 0u,
                        good = ((finite_lanes(gradients, step.planes) & gradients.mask) | along) &
                               ~locked;
    const bool awake = current(b);
    for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
        if (awake) {
            step_lanes<true>(b, step, gradients, lane, good);
        } else {
            step_lanes<false>(b, step, gradients, lane, good);
        }
    }
    for (std::uint32_t rest = good; rest != 0; rest &= rest - 1)
        b.last_step[std::countr_zero(rest)] = b.steps + 1;
    return gradients.mask & ~locked & ~good;
}

std::uint32_t AddGradients(const BlockGradients& gradients, std::uint32_t locked, int planes,
                           bool first, float* sums) {
    const D d;
    const std::uint32_t good = finite_lanes(gradients, planes) & gradients.mask & ~locked;
    for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
        const auto taken = mask_at(good, lane);
        for (int p = 0; p < planes; ++p) {
            float* at = sums + static_cast<std::size_t>(p) * kBlock + lane;
            const V g = hn::IfThenElseZero(taken, hn::Load(d, gradients.planes[p] + lane));
            hn::Store(first ? g : hn::Add(hn::Load(d, at), g), d, at);
        }
    }
    return good;
}

BlockBounds Bounds(const Block& b, const Drift& drift, std::size_t lanes) {
    const D d;
    HWY_ALIGN float x[3][kBlock], reach[kBlock];
    for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
        V moved = hn::Zero(d), largest = hn::Set(d, -1e30f);
        for (int i = 0; i < 3; ++i) {
            const V u = hn::Mul(direction(b, kMeans + i, lane), hn::Set(d, drift.means));
            moved = hn::MulAdd(u, u, moved);
            const V grows =
                hn::Mul(hn::Abs(direction(b, kLogScales + i, lane)), hn::Set(d, drift.scales));
            largest = hn::Max(
                largest,
                hn::Add(
                    hn::LoadU(
                        d, b.values + static_cast<std::size_t>(kLogScales + i) * b.stride + lane),
                    grows));
            hn::Store(
                hn::LoadU(d, b.values + static_cast<std::size_t>(kMeans + i) * b.stride + lane), d,
                x[i] + lane);
        }
        const V sigma = hn::Exp(d, hn::Min(largest, hn::Set(d, 80.0f)));
        hn::Store(hn::MulAdd(hn::Set(d, 3.4f), sigma, hn::Sqrt(moved)), d, reach + lane);
    }
    // Lanes that are not finite draw nothing and bound nothing.
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    float lo[3] = {kInfinity, kInfinity, kInfinity}, hi[3] = {-kInfinity, -kInfinity, -kInfinity};
    const auto counts = [&](std::size_t i) {
        return std::isfinite(x[0][i] + x[1][i] + x[2][i] + reach[i]);
    };
    for (std::size_t i = 0; i < lanes; ++i) {
        if (!counts(i)) continue;
        for (int axis = 0; axis < 3; ++axis) {
            lo[axis] = std::min(lo[axis], x[axis][i]);
            hi[axis] = std::max(hi[axis], x[axis][i]);
        }
    }
    if (lo[0] > hi[0]) return {0, 0, 0, 0};
    BlockBounds out{0.5f * (lo[0] + hi[0]), 0.5f * (lo[1] + hi[1]), 0.5f * (lo[2] + hi[2]), 0};
    for (std::size_t i = 0; i < lanes; ++i) {
        if (!counts(i)) continue;
        const float dx = x[0][i] - out.x, dy = x[1][i] - out.y, dz = x[2][i] - out.z;
        out.radius = std::max(out.radius, std::sqrt(dx * dx + dy * dy + dz * dz) + reach[i]);
    }
    out.radius *= 1.0001f;  // rounding of the above
    return out;
}

}  // namespace gs::adam::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::adam {
HWY_EXPORT(CatchUp);
HWY_EXPORT(Settle);
HWY_EXPORT(Apply);
HWY_EXPORT(AddGradients);
HWY_EXPORT(Bounds);
void catch_up(const Block& block, int first, int count, float* out) {
    HWY_DYNAMIC_DISPATCH(CatchUp)(block, first, count, out);
}
void settle(const Block& block, int planes) { HWY_DYNAMIC_DISPATCH(Settle)(block, planes); }
std::uint32_t apply(const Block& block, const Step& step, const BlockGradients& gradients,
                    std::uint32_t locked) {
    return HWY_DYNAMIC_DISPATCH(Apply)(block, step, gradients, locked);
}
std::uint32_t add_gradients(const BlockGradients& gradients, std::uint32_t locked, int planes,
                            bool first, float* sums) {
    return HWY_DYNAMIC_DISPATCH(AddGradients)(gradients, locked, planes, first, sums);
}
BlockBounds bounds(const Block& block, const Drift& drift, std::size_t lanes) {
    return HWY_DYNAMIC_DISPATCH(Bounds)(block, drift, lanes);
}
}  // namespace gs::adam
#endif  // HWY_ONCE
