// What moves Gaussians after a step beside their gradients: noise for the faint ones, so that they
// find better places (Kheradmand et al. 2024, 3DGS-MCMC, equation 8), the pull of regularisers on
// opacity and scale, and limits of size. All of it is added to what is stored, and a Gaussian that
// sleeps (lazy_adam.h) reads as what is stored less what is pending, so nobody has to be woken. The
// same code on the host (nudge.cpp) and on the device (cuda/nudge.cu).
//
// A regulariser with weight w is a gradient g that every Gaussian has in every step. Adam would
// carry it in m, whose part of it is soon g, and in v, where photos drown it; so its step is
// rate g / (sqrt(v + g^2) + epsilon), without m: exact where g alone acts, and to first order in
// g / sqrt(v) elsewhere.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "base/rng.h"
#include "base/vec.h"
#include "renderer/math/adam.h"
#include "renderer/math/project.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// Of one step. Everything 0 (limits: infinite): nothing is to be done.
struct NudgePlan {
    float noise = 0;         ///< a mean moves by noise x factor x Sigma xi; 1 / world units
    float opacity_pull = 0;  ///< weight / Gaussians
    float scale_pull = 0;    ///< weight / (3 Gaussians x extent)
    float largest = 1e30f;   ///< log of the largest scale, world units
    float stretch = 1e30f;   ///< log of the largest scale over the middle one
    std::uint32_t step = 0;  ///< steps done before it
    std::uint64_t seed = 0;
    GS_HD bool sizes() const { return scale_pull > 0 || largest < 1e30f || stretch < 1e30f; }
    GS_HD bool on() const { return noise > 0 || opacity_pull > 0 || sizes(); }
};
/// Rates of the step's optimizer, bias corrections included.
struct NudgeRates {
    float opacity, scales;
};

inline constexpr std::uint64_t kNoiseStream = 0x4E6F000000000000ull;  ///< + step
/// Above this logit (opacity 0.166) the noise's factor is below 1e-7: a move of less than 1e-5 of a
/// Gaussian's own size, which is not made.
inline constexpr float kNoiseEnds = -1.613f;

/// How much a Gaussian of this opacity wanders: sigmoid(-100 (opacity - 0.005)).
GS_HD inline float noise_factor(float opacity) {
    return math::sigmoid(-100.0f * (opacity - 0.005f));
}

/// Three numbers from the standard normal distribution, for Gaussian `id` in one step (Box,
/// Muller).
GS_HD inline Vec3f noise_vector(std::uint64_t seed, std::uint32_t step, std::uint32_t id) {
    const std::uint64_t stream = kNoiseStream + step;
    const std::uint64_t bits[2] = {random_bits(seed, stream, 2 * std::uint64_t{id}),
                                   random_bits(seed, stream, 2 * std::uint64_t{id} + 1)};
    float radius[2], angle[2];
    for (int i = 0; i < 2; ++i) {
        const float u =  // never 0
            (static_cast<float>(bits[i] >> 40) + 1.0f) * 0x1p-24f;
        radius[i] = math::sqrt(-2.0f * math::log(u));
        angle[i] = 6.2831853f * (static_cast<float>(bits[i] >> 16 & 0xffffff) * 0x1p-24f);
    }
    return {radius[0] * math::cos(angle[0]), radius[0] * math::sin(angle[0]),
            radius[1] * math::cos(angle[1])};
}

/// Sigma x, of scales (standard deviations) and a rotation of any length.
GS_HD inline Vec3f times_covariance(Vec3f scale, Quatf q, Vec3f x) {
    const Mat3f r = math::quat_to_rotation(q);
    const Vec3f turned = transpose(r) * x;
    return r * Vec3f{scale.x * scale.x * turned.x, scale.y * scale.y * turned.y,
                     scale.z * scale.z * turned.z};
}

/// One Gaussian's nudge. `row`: float now(plane), what it reads as; float square(plane), its second
/// moment; void add(plane, float). True: its mean was moved. Broken values move nothing else.
template <class Row>
GS_HD bool nudge_row(Row& row, const NudgePlan& plan, const NudgeRates& rates, std::uint32_t id) {
    const float logit = row.now(kOpacityLogits), opacity = math::sigmoid(logit);
    const auto reg_step = [&](int plane, float g, float rate) {
        return rate * g * math::inverse_root(row.square(plane) + g * g, math::kAdamEpsilon);
    };
    const bool wanders = plan.noise > 0 && logit < kNoiseEnds;
    if (plan.opacity_pull > 0)
        row.add(kOpacityLogits,
                -reg_step(kOpacityLogits, plan.opacity_pull * opacity * (1.0f - opacity),
                          rates.opacity));
    if (!wanders && !plan.sizes()) return false;
    float size[3];
    for (int i = 0; i < 3; ++i) size[i] = row.now(kLogScales + i);
    if (plan.sizes()) {
        const float most = math::max(size[0], math::max(size[1], size[2])),
                    least = math::min(size[0], math::min(size[1], size[2])),
                    middle = size[0] + size[1] + size[2] - most - least;
        const float limit = math::min(plan.largest, middle + plan.stretch);
        for (int i = 0; i < 3; ++i) {
            float shrink = 0;
            if (plan.scale_pull > 0)
                shrink =
                    reg_step(kLogScales + i, plan.scale_pull * math::exp(math::min(size[i], 20.0f)),
                             rates.scales);
            if (size[i] > limit)
                shrink = math::max(shrink, math::min(size[i] - limit, rates.scales));
            if (shrink > 0) row.add(kLogScales + i, -shrink);
        }
    }
    if (!wanders) return false;
    const Vec3f scale{math::exp(size[0]), math::exp(size[1]), math::exp(size[2])};
    const Quatf quat{row.now(kQuats), row.now(kQuats + 1), row.now(kQuats + 2),
                     row.now(kQuats + 3)};
    const Vec3f move = plan.noise * noise_factor(opacity) *
                       times_covariance(scale, quat, noise_vector(plan.seed, plan.step, id));
    if (!(::fabsf(move.x) + ::fabsf(move.y) + ::fabsf(move.z) < 1e30f)) return false;
    row.add(kMeans, move.x);
    row.add(kMeans + 1, move.y);
    row.add(kMeans + 2, move.z);
    return true;
}

}  // namespace gs
