// Pack: the floats of one vector, which behave like one float, so that the functions of
// renderer/math run on a vector of Gaussians at a time. Made of compiler vectors, as wide as the
// instruction set's own: wider ones the compiler takes apart, number by number, before the
// templates of renderer/math, which have no instruction set of their own, are flattened into a
// kernel (project.cpp). Included once per instruction set, as lanes.h is.
#if defined(GS_RASTER_CPU_PACK_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GS_RASTER_CPU_PACK_H_
#undef GS_RASTER_CPU_PACK_H_
#else
#define GS_RASTER_CPU_PACK_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Without vectors of its own a target has those that every x86-64 has.
inline constexpr int kPackBytes = std::clamp(static_cast<int>(HWY_MAX_BYTES), 16, 64);
inline constexpr int kPack = kPackBytes / 4;  ///< lanes; divides kBlock

struct PackMask {
    typedef std::int32_t Vector __attribute__((vector_size(kPackBytes)));
    Vector m;  ///< -1 or 0
};
struct Pack {
    typedef float Vector __attribute__((vector_size(kPackBytes)));
    Vector v;
    Pack() : v{} {}
    explicit Pack(float x) : v(x - Vector{}) {}
    explicit Pack(Vector x) : v(x) {}
};

inline Pack load(const float* p) {
    Pack x;
    std::memcpy(&x.v, p, sizeof(x.v));
    return x;
}
inline void store(Pack x, float* p) { std::memcpy(p, &x.v, sizeof(x.v)); }

// clang-format off
inline Pack operator+(Pack a, Pack b) { return Pack(a.v + b.v); }
inline Pack operator-(Pack a, Pack b) { return Pack(a.v - b.v); }
inline Pack operator*(Pack a, Pack b) { return Pack(a.v * b.v); }
inline Pack operator/(Pack a, Pack b) { return Pack(a.v / b.v); }
inline Pack operator-(Pack a) { return Pack(-a.v); }
inline PackMask operator<(Pack a, Pack b)  { return {a.v < b.v}; }
inline PackMask operator>(Pack a, Pack b)  { return {a.v > b.v}; }
inline PackMask operator<=(Pack a, Pack b) { return {a.v <= b.v}; }
inline PackMask operator>=(Pack a, Pack b) { return {a.v >= b.v}; }
inline PackMask both(PackMask a, PackMask b)   { return {a.m & b.m}; }
inline PackMask either(PackMask a, PackMask b) { return {a.m | b.m}; }
inline Pack select(PackMask m, Pack a, Pack b) { return Pack(m.m ? a.v : b.v); }
// As for floats: the second operand where they do not compare.
inline Pack min(Pack a, Pack b) { return select(a < b, a, b); }
inline Pack max(Pack a, Pack b) { return select(a > b, a, b); }
// clang-format on

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
inline Pack sqrt(Pack x) {
    for (int i = 0; i < kPack; ++i) x.v[i] = __builtin_sqrtf(x.v[i]);
    return x;
}
inline Pack ceil(Pack x) {
    for (int i = 0; i < kPack; ++i) x.v[i] = __builtin_ceilf(x.v[i]);
    return x;
}
#else
using PackVector = hn::Vec<hn::CappedTag<float, kPack> >;
inline Pack sqrt(Pack x) { return Pack(hn::Sqrt(PackVector{x.v}).raw); }
inline Pack ceil(Pack x) { return Pack(hn::Ceil(PackVector{x.v}).raw); }
#endif

/// e^x, relative error 2e-7. Range reduction by ln 2 in two parts (Cody and Waite), Taylor
/// polynomial of degree 6. Beyond +-87 the result stays finite and huge or tiny; NaN stays NaN.
inline Pack exp(Pack x) {
    const Pack bounded = max(min(x, Pack(88.0f)), Pack(-87.0f));
    const Pack shifted = bounded * Pack(1.44269504f) +
                         Pack(12582912.0f);  // 1.5 * 2^23: rounds to the nearest integer
    const Pack whole = shifted - Pack(12582912.0f);
    const Pack f = bounded - whole * Pack(0.693359375f) - whole * Pack(-2.12194440e-4f);
    Pack p(1.0f / 720.0f);
    for (const float c : {1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f, 1.0f, 1.0f})
        p = p * f + Pack(c);
    const PackMask::Vector exponent = __builtin_convertvector(whole.v, PackMask::Vector);
    PackMask::Vector bits;
    std::memcpy(&bits, &p.v, sizeof(bits));
    bits += exponent << 23;
    std::memcpy(&p.v, &bits, sizeof(bits));
    return Pack(x.v == x.v ? p.v : x.v);
}

/// Natural logarithm of a positive normal number, absolute error 1e-7 near 1. NaN, zero and
/// negative numbers give NaN or -huge. x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m
/// - 1) / (m + 1)) by its odd series.
inline Pack log(Pack x) {
    PackMask::Vector bits;
    std::memcpy(&bits, &x.v, sizeof(bits));
    const PackMask::Vector offset = bits - 0x3F3504F3;  // sqrt(1/2)
    const PackMask::Vector exponent = offset >> 23;
    const PackMask::Vector mantissa = (offset & 0x7FFFFF) + 0x3F3504F3;
    Pack m;
    std::memcpy(&m.v, &mantissa, sizeof(mantissa));
    const Pack e(__builtin_convertvector(exponent, Pack::Vector));
    const Pack s = (m - Pack(1.0f)) / (m + Pack(1.0f)), s2 = s * s;
    Pack p(2.0f / 11.0f);
    for (const float c : {2.0f / 9.0f, 2.0f / 7.0f, 2.0f / 5.0f, 2.0f / 3.0f, 2.0f})
        p = p * s2 + Pack(c);
    const Pack value = p * s + e * Pack(0.69314718056f);
    return Pack(x.v > 0.0f ? value.v : (Pack(-1e30f)).v);
}

/// Angle of (x, y), absolute error 2e-7, relative to small angles too; (0, 0) gives 0. The quotient
/// of the smaller by the larger is at most 1; above tan(pi / 8) it is turned back by pi / 4
/// (Cephes' polynomial).
inline Pack atan2(Pack y, Pack x) {
    const Pack zero(0.0f), one(1.0f), ax = max(x, -x), ay = max(y, -y);
    const PackMask steep = ay > ax;
    const Pack small = select(steep, ax, ay), large = max(select(steep, ay, ax), Pack(1e-38f));
    const Pack q = small / large;
    const PackMask high = q > Pack(0.41421356f);
    const Pack t = select(high, (q - one) / (q + one), q), t2 = t * t;
    Pack p(8.05374449538e-2f);
    for (const float c : {-1.38776856032e-1f, 1.99777106478e-1f, -3.33329491539e-1f})
        p = p * t2 + Pack(c);
    Pack angle = p * t2 * t + t + select(high, Pack(0.785398163f), zero);
    angle = select(steep, Pack(1.57079633f) - angle, angle);
    angle = select(x < zero, Pack(3.14159265f) - angle, angle);
    const Pack result = select(y < zero, -angle, angle);
    return Pack(x.v == x.v ? (y.v == y.v ? result.v : y.v) : x.v);
}
/// For |x| <= pi: Taylor polynomials about 0 after folding at pi / 2, absolute error 2e-7.
inline Pack sin(Pack x) {
    const Pack pi(3.14159265f), half_pi(1.57079633f);
    x = select(x > half_pi, pi - x, select(x < -half_pi, -pi - x, x));
    const Pack x2 = x * x;
    Pack p(1.0f / 6227020800.0f);
    for (const float c :
         {-1.0f / 39916800.0f, 1.0f / 362880.0f, -1.0f / 5040.0f, 1.0f / 120.0f, -1.0f / 6.0f})
        p = p * x2 + Pack(c);
    return x + x * x2 * p;
}
inline Pack cos(Pack x) { return sin(Pack(1.57079633f) - max(x, -x)); }

/// Bit i: lane i is set.
inline std::uint32_t bits_of(PackMask m) {
    std::uint32_t bits = 0;
    for (int i = 0; i < kPack; ++i) bits |= static_cast<std::uint32_t>(m.m[i] & 1) << i;
    return bits;
}
inline PackMask mask_from_bits(std::uint32_t bits) {
    PackMask::Vector bit;
    for (int i = 0; i < kPack; ++i) bit[i] = 1 << i;
    return {(bit & static_cast<std::int32_t>(bits)) != 0};
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
