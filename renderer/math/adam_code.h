// Adam's two moments of a parameter in 16 bits, for runs with --compact-moments: the second as a
// short float, the first as its ratio to the root of what the second was rounded to. Both are
// rounded at random, so that what is stored is what was meant on average and nothing small is lost:
// v moves by a thousandth a step, far less than the space between its codes. Host and device; the
// CPU's SIMD twin is in trainer/adam/adam_block.cpp.
#pragma once

#include <bit>
#include <cstdint>

#include "base/rng.h"
#include "renderer/math/adam.h"

namespace gs::math {

/// Numbers from 0 in a few bits: code c is (f(c) - 1) 2^kUnit, with f the floats from 1 on that
/// have kMantissa bits behind the point, in their order. So 0 is 0; numbers below the unit are
/// evenly spaced, those above it relatively.
template <int kExponent, int kMantissa, int kUnit>
struct ShortFloat {
    static constexpr int kBits = kExponent + kMantissa, kShift = 23 - kMantissa;
    static constexpr std::uint32_t kMost = (1u << kBits) - 1,
                                   kFirst = static_cast<std::uint32_t>(127 + kUnit) << 23,
                                   kRest = (1u << kShift) - 1;

    GS_HD static float unit() { return std::bit_cast<float>(kFirst); }
    GS_HD static float value(std::uint32_t code) {
        return std::bit_cast<float>(kFirst + (code << kShift)) - unit();
    }
    /// Of x >= 0: one of the two codes around it, by the low bits of `random` such that value() is
    /// x on average. A value() is its own code, whatever `random`. Beyond the last: the last.
    GS_HD static std::uint32_t code(float x, std::uint32_t random) {
        const std::uint32_t code =
            (std::bit_cast<std::uint32_t>(x + unit()) + (random & kRest) - kFirst) >> kShift;
        return code < kMost ? code : kMost;
    }
};
/// Of v: from 2^-71 to 2^-4, so of gradients from 2e-11 to 0.25, eight codes for each doubling.
using SquareCode = ShortFloat<6, 3, -68>;
/// Of |m| / sqrt(v), which is 7.3 at most (Cauchy and Schwarz: m^2 <= v (1 - beta1)^2 / ((1 -
/// beta2) (1 - beta1^2 / beta2))) before v is rounded: to 7.5, steps of 1/256 near 0.
using RatioCode = ShortFloat<3, 3, -5>;

struct AdamMoments {
    float m, v;
};
/// Of 16 bits (v's code, above it that of the ratio, above that the sign of m): m / sqrt(v), the
/// direction a parameter drifts in while it sleeps.
GS_HD inline float decode_direction(std::uint32_t code) {
    const float ratio = RatioCode::value(code >> SquareCode::kBits & RatioCode::kMost);
    return (code >> 15) != 0 ? -ratio : ratio;
}
GS_HD inline AdamMoments decode_moments(std::uint32_t code) {
    const float v = SquareCode::value(code & SquareCode::kMost);
    return {decode_direction(code) * (v * inverse_root(v, 0.0f)), v};
}
/// Unbiased in v, and in m but where v is rounded to 0 or the ratio ends: there m is nearer 0.
GS_HD inline std::uint32_t encode_moments(AdamMoments moments, std::uint32_t random) {
    static_assert(SquareCode::kBits + RatioCode::kBits == 15);
    const std::uint32_t square = SquareCode::code(moments.v, random);
    const float size = moments.m < 0 ? -moments.m : moments.m,
                to_root = inverse_root(SquareCode::value(square), 0.0f);
    // Never as much as an exponent more than the last code has, which would be taken for fewer.
    const std::uint32_t ratio = square == 0 ? 0
                                            : RatioCode::code(min(size * to_root, 100.0f),
                                                              random >> (32 - RatioCode::kShift));
    return square | ratio << SquareCode::kBits | (moments.m < 0 && ratio != 0 ? 0x8000u : 0u);
}

/// hash64() of 32 bits, of which vectors and GPUs have more lanes. Source: C. Wellons, "Prospecting
/// for hash functions" (2018), lowbias32.
GS_HD inline std::uint32_t hash32(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}
/// The random bits that a row's moments are rounded by after `steps` steps, wherever it is: by its
/// tag.
GS_HD inline std::uint32_t row_rounding(std::uint64_t seed, std::uint32_t steps,
                                        std::uint32_t tag) {
    constexpr std::uint64_t kStream = 0x6d6f6d656e747300;  // "moments"
    return static_cast<std::uint32_t>(random_bits(seed, kStream + steps, tag));
}
/// Those of one of its planes.
GS_HD inline std::uint32_t plane_rounding(std::uint32_t row, int plane) {
    return hash32(row + static_cast<std::uint32_t>(plane) * 0x9E3779B9u);
}

}  // namespace gs::math
