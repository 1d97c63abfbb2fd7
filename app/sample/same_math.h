// Float functions with the same result on every machine: computed in double precision and rounded
// once. A C library's own float functions differ between its versions, and the photos of a sample,
// whose hashes are known (docs/benchmark.md), would differ with them. Used by scenes, materials and
// rendering.
#pragma once

#include <cmath>

namespace gs::sample {

inline float sin_of(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
inline float cos_of(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
inline float asin_of(float x) { return static_cast<float>(std::asin(static_cast<double>(x))); }
inline float exp_of(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }
inline float cbrt_of(float x) { return static_cast<float>(std::cbrt(static_cast<double>(x))); }
inline float pow_of(float x, float y) {
    return static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
}
inline float atan2_of(float y, float x) {
    return static_cast<float>(std::atan2(static_cast<double>(y), static_cast<double>(x)));
}
inline float hypot_of(float x, float y) {
    const double a = x, b = y;
    return static_cast<float>(std::sqrt(a * a + b * b));
}

}  // namespace gs::sample
