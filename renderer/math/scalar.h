// The operations that every function in math/ is written with. Here for float and double; dual
// numbers (tests) and SIMD lanes (raster/cpu/lanes.h) bring their own, found by argument.
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
GS_HD inline float  sin(float x)   { return ::sinf(x); }
GS_HD inline double sin(double x)  { return ::sin(x); }
GS_HD inline float  cos(float x)   { return ::cosf(x); }
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

/// Logistic function; opacity from its logit.
template <class T>
GS_HD T sigmoid(T x) {
    return T(1.0f) / (T(1.0f) + exp(-x));
}

}  // namespace gs::math
