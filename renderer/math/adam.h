// What Adam does to one parameter, in closed form over the steps it slept through. Host and device; the trainer and the
// CUDA kernels that read a model in training use it. Derivation: trainer/lazy_adam.h.
#pragma once

#include "renderer/math/scalar.h"

namespace gs::math {

inline constexpr float kAdamEpsilon = 1e-15f;  ///< added to sqrt(v)

/// A parameter as it reads now: value `p` and moments `m`, `v` as they were stored, `pending` = what the steps since then
/// move per unit of m / sqrt(v).
template <class T>
GS_HD T lazy_value(T p, T m, T v, T pending) {
    return p - m / (sqrt(v) + T(kAdamEpsilon)) * pending;
}

}  // namespace gs::math
