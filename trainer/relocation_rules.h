// What the Gaussians that share one's place look like, on host and device. Source: Kheradmand et
// al. 2024 (3DGS-MCMC), equation 9.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "renderer/math/scalar.h"

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

}  // namespace gs
