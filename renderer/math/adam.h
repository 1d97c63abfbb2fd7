// Adam for one parameter, with the steps it slept through in closed form. Host and device; the CUDA
// kernels that read or step a model in training use it, tests hold it against the SIMD blocks of
// the CPU (trainer/adam_block). Derivation: trainer/adam/lazy_adam.h.
#pragma once

#include "renderer/math/scalar.h"

namespace gs::math {

inline constexpr double kAdamBeta1 = 0.9, kAdamBeta2 = 0.999;
inline constexpr float kAdamEpsilon = 1e-15f;  ///< added to sqrt(v), after bias correction
/// The smallest second moment that float arithmetic distinguishes from 0 (inverse_root).
inline constexpr float kLeastAdamSquare = 1e-28f;
/// A gradient component of this size or more counts as not finite: its square would overflow.
inline constexpr float kLargestAdamGradient = 1e15f;

/// How much of the moments one step keeps, and what it adds to them.
template <class T>
struct AdamBetas {
    T beta1, beta2, rest1, rest2;  ///< rest = 1 - beta
};
/// Of a step on `views` views at once: beta^views, as if they had come one by one (Grendel-GS).
constexpr AdamBetas<double> adam_betas(unsigned views) {
    double beta1 = 1, beta2 = 1;
    for (unsigned i = 0; i < views; ++i) {
        beta1 *= kAdamBeta1;
        beta2 *= kAdamBeta2;
    }
    return {beta1, beta2, 1 - beta1, 1 - beta2};
}
constexpr AdamBetas<float> adam_betas_float(unsigned views) {
    const AdamBetas<double> exact = adam_betas(views);
    return {static_cast<float>(exact.beta1), static_cast<float>(exact.beta2),
            static_cast<float>(exact.rest1), static_cast<float>(exact.rest2)};
}

/// A parameter and its moments.
template <class T>
struct AdamCell {
    T value, m, v;
};

/// 1 / (sqrt(v) + epsilon).
GS_HD inline double inverse_root(double v, double epsilon) { return 1 / (sqrt(v) + epsilon); }
/// The same to 2^-22 where v > 4e-24, for epsilon <= kAdamEpsilon: y - epsilon y^2 is 1 / (1/y +
/// epsilon) to (epsilon y)^2, which grows to 1 % at kLeastAdamSquare. Without a branch, which
/// square root and division as IEEE has them contain on a GPU and beyond which the compiler moves
/// no load. Below kLeastAdamSquare, where gradients are of 1e-13 and less, it stays what it is
/// there; 0 for infinity.
GS_HD inline float inverse_root(float v, float epsilon) {
#ifdef __CUDA_ARCH__
    const float y = rsqrtf(fmaxf(v, kLeastAdamSquare));
#else
    const float y = 1.0f / sqrt(max(v, kLeastAdamSquare));
#endif
    return y - (epsilon * y) * y;
}

/// m / (sqrt(v) + eps): the direction a parameter drifts in while it sleeps.
template <class T>
GS_HD T adam_direction(T m, T v) {
    return m * inverse_root(v, T(kAdamEpsilon));
}

/// A parameter as it reads now: value `p` and moments `m`, `v` as they were stored, `pending` =
/// what the steps since then move per unit of m / sqrt(v).
template <class T>
GS_HD T lazy_value(T p, T m, T v, T pending) {
    return p - adam_direction(m, v) * pending;
}

/// The cell as it is now, to be stored: `decay1` = beta1^age, `decay2` = beta2^age.
template <class T>
GS_HD AdamCell<T> adam_settled(AdamCell<T> c, T pending, T decay1, T decay2) {
    return {lazy_value(c.value, c.m, c.v, pending), c.m * decay1, c.v * decay2};
}

/// One step with gradient g of a settled cell: `rate` = lr sqrt(1 - beta2^t) / (1 - beta1^t),
/// `epsilon` = eps sqrt(1 - beta2^t), with eps = kAdamEpsilon / sqrt(views).
template <class T>
GS_HD AdamCell<T> adam_step(AdamCell<T> c, T g, T rate, T epsilon, AdamBetas<T> betas) {
    const T m = betas.beta1 * c.m + betas.rest1 * g;
    const T v = betas.beta2 * c.v + betas.rest2 * (g * g);
    return {c.value - rate * m * inverse_root(v, epsilon), m, v};
}
/// Of one view.
template <class T>
GS_HD AdamCell<T> adam_step(AdamCell<T> c, T g, T rate, T epsilon) {
    return adam_step(
        c, g, rate, epsilon,
        AdamBetas<T>{T(kAdamBeta1), T(kAdamBeta2), T(1 - kAdamBeta1), T(1 - kAdamBeta2)});
}

/// Standard deviations that bounds reach around a mean: what is drawn ends before.
inline constexpr float kBoundSigmas = 3.4f;

/// How far from its stored mean a Gaussian can draw until it is touched next: `drift` are the
/// directions of its mean times the most they may still move, `largest` the log of its largest
/// scale with that of its own.
template <class T>
GS_HD T adam_reach(T drift_x, T drift_y, T drift_z, T largest) {
    return T(kBoundSigmas) * exp(min(largest, T(80))) +
           sqrt(drift_x * drift_x + drift_y * drift_y + drift_z * drift_z);
}

}  // namespace gs::math
