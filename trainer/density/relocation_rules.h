// What the Gaussians that share one's place look like, on host and device. Source: Kheradmand et
// al. 2024 (3DGS-MCMC), equation 9. Where they lie is ours: two that are alike have the same
// gradients, of which Adam makes the same steps, so at one place they stay one for long.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "renderer/math/scalar.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/density/density_rules.h"

namespace gs {

/// Gaussians that may share a place at most. Of nearly opaque ones fewer: many faint shells look
/// least like them, so theirs wait for a later round.
inline constexpr int kMostShares = 51, kMostOpaqueShares = 8;
inline constexpr float kOpaque = 0.9f;
GS_HD inline int most_shares(float opacity) {
    return opacity > kOpaque ? kMostOpaqueShares : kMostShares;
}

/// Each of them: its opacity, and its scale over the one there was.
struct Share {
    double opacity, scale;
};
/// `n` Gaussians (1..kMostShares) at the place of one of this opacity, 0 < opacity < 1: together
/// they hide as much light in all.
///   o' = 1 - (1 - o)^(1/n), at least `least`, at most 1 - 2^-23,
///   s'/s = o / sum over i = 1..n of sum over k < i of C(i-1, k) (-1)^k o'^(k+1) / sqrt(k+1),
/// where the sum over i of C(i-1, k) is C(n, k+1).
GS_HD inline Share share_of(double opacity, int n, double least) {
    const double each = math::min(math::max(-::expm1(::log1p(-opacity) / n), least), 1 - 0x1p-23);
    double sum = 0, term = -1;  // C(n, j) (-1)^(j-1) o'^j
    for (int j = 1; j <= n; ++j) {
        term *= -each * (n + 1 - j) / j;
        sum += term / math::sqrt(static_cast<double>(j));
    }
    return {each, opacity / sum};
}

/// RoundRows::share of one that came to its place, beside how many share it.
inline constexpr std::uint8_t kNewcomer = 0x80;
/// What places are shared by in a round.
struct SharingRules {
    double least_opacity, spread;  ///< of each; standard deviations that newcomers lie apart
    std::uint64_t seed, step;
};
inline constexpr std::uint64_t kSpreadStream = 0x5370000000000000ull;  ///< + step

/// A row that shares its place with n - 1 others.
struct SharedRow {
    float opacity_logit, log_scale_change;
};
GS_HD inline SharedRow shared_row(float opacity_logit, int n, double least) {
    const double opacity = 1.0 / (1.0 + math::exp(-static_cast<double>(opacity_logit)));
    const Share share = share_of(math::min(opacity, 1.0 - 1e-12), n, least);
    return {static_cast<float>(math::log(share.opacity / (1.0 - share.opacity))),
            static_cast<float>(math::log(share.scale))};
}

/// What a row becomes that shares its place, or nothing where it is alone. `value(plane)`: of it,
/// to be changed. `id`: its own.
template <class Values>
GS_HD void share_place(const Values& value, std::uint8_t share, std::uint32_t id,
                       const SharingRules& rules) {
    const int n = share & (kNewcomer - 1);
    if (n < 2) return;
    if ((share & kNewcomer) != 0 && rules.spread > 0) {
        const float wider = static_cast<float>(math::log(rules.spread));
        const Vec3f mean =
            child_mean(false, {value(kMeans), value(kMeans + 1), value(kMeans + 2)},
                       {value(kLogScales) + wider, value(kLogScales + 1) + wider,
                        value(kLogScales + 2) + wider},
                       {value(kQuats), value(kQuats + 1), value(kQuats + 2), value(kQuats + 3)}, id,
                       rules.seed, kSpreadStream + rules.step, 0);
        value(kMeans) = mean.x;
        value(kMeans + 1) = mean.y;
        value(kMeans + 2) = mean.z;
    }
    const SharedRow shared = shared_row(value(kOpacityLogits), n, rules.least_opacity);
    value(kOpacityLogits) = shared.opacity_logit;
    for (int axis = 0; axis < 3; ++axis) value(kLogScales + axis) += shared.log_scale_change;
}

}  // namespace gs
