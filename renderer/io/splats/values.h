// Numbers as splat formats store them: opacity and colour as bytes, half floats, smallest-three
// quaternions. Used by the readers and writers beside it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/bytes.h"

namespace gs {

/// Degree-0 spherical harmonic: colour = 0.5 + kSh0Basis * sh0.
inline constexpr float kSh0Basis = 0.28209479177387814f;
inline constexpr float kInfinite = std::numeric_limits<float>::infinity();
inline constexpr float kHalfSqrt2 =
    0.70710678118654752f;  ///< no smaller component of a unit quaternion is larger

inline float sigmoid(float logit) { return 1.0f / (1.0f + std::exp(-logit)); }
/// 0 gives -infinity and 1 infinity, whose sigmoids are exact again.
inline float logit_of(float alpha) {
    if (!(alpha > 0)) return -kInfinite;
    if (alpha >= 1) return kInfinite;
    return std::log(alpha / (1.0f - alpha));
}
inline float color_of_sh0(float sh0) { return 0.5f + kSh0Basis * sh0; }
inline float sh0_of_color(float color) { return (color - 0.5f) / kSh0Basis; }

/// value / step rounded to 0 .. top; NaN gives 0.
inline std::uint32_t quantised(float value, float step_count, std::uint32_t top) {
    const float scaled = value * step_count + 0.5f;
    if (!(scaled > 0)) return 0;
    return scaled >= static_cast<float>(top) ? top : static_cast<std::uint32_t>(scaled);
}
inline std::uint8_t byte_of(float unit) {
    return static_cast<std::uint8_t>(quantised(unit, 255.0f, 255));
}
/// The byte of an opacity logit. Only what rounds to it is 0 or 255, as everywhere else.
inline std::uint8_t byte_of_logit(float logit) { return byte_of(sigmoid(logit)); }
inline float logit_of_byte(std::uint8_t byte) {
    return logit_of(static_cast<float>(byte) / 255.0f);
}

/// IEEE 754 binary16.
inline float float_of_half(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16,
                        mantissa = half & 0x3FFu;
    const std::uint32_t exponent = half >> 10 & 31u;
    if (exponent == 0) {
        const float small = static_cast<float>(mantissa) * 0x1p-24f;
        return sign != 0 ? -small : small;
    }
    const std::uint32_t bits = exponent == 31 ? 0x7F800000u : (exponent + 112) << 23;
    return std::bit_cast<float>(sign | bits | mantissa << 13);
}

/// w x y z of length 1 with the largest component positive, and which that is. A quaternion of
/// length 0 is the identity.
struct UnitQuat {
    float q[4];
    int largest;
};
inline UnitQuat unit_quat(float w, float x, float y, float z) {
    UnitQuat out{{w, x, y, z}, 0};
    const float length = std::sqrt(w * w + x * x + y * y + z * z);
    if (!(length > 0) || !std::isfinite(length)) {
        const float largest = std::max({std::abs(w), std::abs(x), std::abs(y), std::abs(z)});
        if (!(largest > 0) || !std::isfinite(largest)) return {{1, 0, 0, 0}, 0};
        return unit_quat(w / largest, x / largest, y / largest,
                         z / largest);  // the squares overflowed or vanished
    }
    for (int i = 1; i < 4; ++i)
        if (std::abs(out.q[i]) > std::abs(out.q[out.largest])) out.largest = i;
    const float scale = (out.q[out.largest] < 0 ? -1.0f : 1.0f) / length;
    for (float& component : out.q) component *= scale;
    return out;
}
/// The component that was left out.
inline float largest_of(float a, float b, float c) {
    return std::sqrt(std::max(0.0f, 1.0f - (a * a + b * b + c * c)));
}

}  // namespace gs
