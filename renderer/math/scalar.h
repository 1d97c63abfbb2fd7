// The operations that every function in math/ is written with. Here for float and double; dual
// numbers (tests) and SIMD packs (raster/cpu/pack.h) bring their own, found by argument.
// Conditions become select(mask, a, b), never `if`.
#pragma once

#include <cmath>

#include "base/host_device.h"

namespace gs::math {

// clang-format off
GS_HD inline float  select(bool m, float a, float b)   { return m ? a : b; }
GS_HD inline double select(bool m, double a, double b) { return m ? a : b; }
GS_HD inline bool   both(bool a, bool b)   { return a && b; }
GS_HD inline bool   either(bool a, bool b) { return a || b; }
GS_HD inline float  sqrt(float x)  { return ::sqrtf(x); }
GS_HD inline double sqrt(double x) { return ::sqrt(x); }
GS_HD inline float  exp(float x)   { return ::expf(x); }
GS_HD inline double exp(double x)  { return ::exp(x); }
GS_HD inline float  log(float x)   { return ::logf(x); }
GS_HD inline double log(double x)  { return ::log(x); }
GS_HD inline double sin(double x)  { return ::sin(x); }
GS_HD inline double cos(double x)  { return ::cos(x); }
GS_HD inline float  atan2(float y, float x)   { return ::atan2f(y, x); }
GS_HD inline double atan2(double y, double x) { return ::atan2(y, x); }
GS_HD inline float  ceil(float x)  { return ::ceilf(x); }
GS_HD inline double ceil(double x) { return ::ceil(x); }
GS_HD inline float  min(float a, float b)   { return a < b ? a : b; }
GS_HD inline double min(double a, double b) { return a < b ? a : b; }
GS_HD inline float  max(float a, float b)   { return a > b ? a : b; }
GS_HD inline double max(double a, double b) { return a > b ? a : b; }
// clang-format on

/// To the nearest whole number, of |x| < 4e6.
GS_HD inline float round_small(float x) {
    constexpr float kWhole = 12582912.0f;
    return (x + kWhole) - kWhole;
}
/// (-1)^k sin(x - n pi): of a whole k and an n that leaves at most a quarter turn of x. A minimax
/// polynomial, relative error 6e-9 before rounding.
GS_HD inline float sine_of_rest(float x, float n, float k) {
    constexpr float kPi = 3.14159274f, kPiRest = -8.74227766e-8f;
    const float r = ::fmaf(n, -kPiRest, ::fmaf(n, -kPi, x)), s = r * r;
    const float p =
        ((2.60576485e-6f * s - 1.98095964e-4f) * s + 8.33306648e-3f) * s - 1.66666597e-1f;
    const float odd = k - 2.0f * round_small(0.5f * k);  // 0, or 1 with either sign
    return (1.0f - 2.0f * odd * odd) * ::fmaf(r * s, p, r);
}
/// Absolute error 1.3e-7 for |x| up to 1,000, which angles keep within; wrong beyond 1e6. The
/// mathematical library's also reduces 1e30, by code that costs kernels registers, local memory and
/// most of their loads' overlap even where it never runs.
GS_HD inline float sin(float x) {
    const float k = round_small(x * 0.318309886f);
    return sine_of_rest(x, k, k);
}
GS_HD inline float cos(float x) {
    const float k = round_small(x * 0.318309886f + 0.5f);
    return sine_of_rest(x, k - 0.5f, k);
}

/// Logistic function; opacity from its logit.
template <class T>
GS_HD T sigmoid(T x) {
    return T(1.0f) / (T(1.0f) + exp(-x));
}

}  // namespace gs::math
