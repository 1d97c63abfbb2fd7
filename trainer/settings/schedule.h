// Schedules: what depends on the step alone. Learning rates (the means' decays exponentially), the
// SH degree reached, and when density control and opacity resets are due. The trainer asks; nothing
// is kept here.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "trainer/settings/settings.h"

namespace gs {

/// Parameters that share a learning rate.
enum LearningGroup : int {
    kGroupMeans,
    kGroupScales,
    kGroupQuats,
    kGroupOpacity,
    kGroupSh0,
    kGroupShRest
};
inline constexpr int kLearningGroups = 6;
using LearningRates = std::array<double, kLearningGroups>;

/// Photos that one step takes.
inline std::uint32_t batch_of(const TrainingSettings& s) {
    return static_cast<std::uint32_t>(std::max(1.0, s.batch));
}

/// The width and height of photos in step `step` (0-based) are those of the capture over this: 4,
/// 2 or 1. Full size begins at coarse_until, but at half of the run at the latest; half size at
/// half of that. Both wait for the next multiple of densify_every if there is one before. A side of
/// `side` pixels, the smallest of the capture, keeps 128 of them: smaller photos cost quality
/// (docs/measurements/2026-11-29-smaller-photos.md). Source: DashGaussian (Chen et al. 2025) begins
/// low as well, but takes its steps from the photos' spectra.
inline int photo_divisor(const TrainingSettings& s, std::uint64_t step, int side) {
    constexpr int kLeastSide = 128;
    const double until = std::min(s.coarse_until, s.steps / 2),
                 every = std::max(1.0, s.densify_every);
    const auto begun = [&](double at) {
        return static_cast<double>(step) >= (at < every ? at : std::ceil(at / every) * every);
    };
    int out = begun(until) ? 1 : begun(until / 2) ? 2 : 4;
    while (out > 1 && 2.0 * side < (2 * kLeastSide - 1) * out) out /= 2;  // rounded: shrunk_size()
    return out;
}

/// Rates of step `step` (0-based), of a batch of B photos sqrt(B) times those of one (Grendel-GS:
/// the mean of B gradients scatters by 1 / sqrt(B), and Adam's step does not shrink with it).
/// `extent`: scene extent in world units, which positions scale with. Means: lr = exp((1 - u)
/// ln(first) + u ln(last)), u = step / steps (Kerbl et al. 2023).
inline LearningRates learning_rates(const TrainingSettings& s, double extent, std::uint64_t step) {
    const double u = std::clamp(static_cast<double>(step) / std::max(1.0, s.steps), 0.0, 1.0);
    const bool decays = s.lr_means > 0 && s.lr_means_final > 0;
    const double means =
        decays ? s.lr_means * std::pow(s.lr_means_final / s.lr_means, u) : s.lr_means;
    LearningRates out{means * extent, s.lr_scales, s.lr_quats,
                      s.lr_opacity,   s.lr_sh0,    s.lr_sh_rest};
    const double by_batch = std::sqrt(static_cast<double>(batch_of(s)));
    for (double& rate : out) rate *= by_batch;
    return out;
}

/// The share of what is known of a photo's pose that its next step makes forgotten: all at first,
/// when the scene is new with every step, and a tenth at the end.
inline double pose_forgets(const TrainingSettings& s, std::uint64_t step) {
    const double u = std::clamp(static_cast<double>(step) / std::max(1.0, s.steps), 0.0, 1.0);
    return std::pow(0.1, u);
}

/// The SH degree step `step` (0-based) trains: one more every sh_interval, from 0.
inline int sh_degree_at(const TrainingSettings& s, std::uint64_t step) {
    const double reached = std::floor(static_cast<double>(step) / std::max(1.0, s.sh_interval));
    return static_cast<int>(std::clamp(reached, 0.0, std::clamp(s.sh_degree, 0.0, 3.0)));
}

/// After `steps_done` steps: is a round of density control due?
inline bool densify_due(const TrainingSettings& s, std::uint64_t steps_done) {
    const double done = static_cast<double>(steps_done);
    const auto every = static_cast<std::uint64_t>(std::max(1.0, s.densify_every));
    return done > s.densify_from && done < s.densify_until && steps_done % every == 0;
}
inline bool opacity_reset_due(const TrainingSettings& s, std::uint64_t steps_done) {
    const auto every = static_cast<std::uint64_t>(std::max(0.0, s.opacity_reset_every));
    return s.strategy != StrategyKind::mcmc && every > 0 &&
           static_cast<double>(steps_done) < s.densify_until && steps_done % every == 0;
}
/// Are the test photos due after `steps_done` steps, being due every `every`th (0: never)? A step
/// that ends in a reset of opacities leaves a model that nobody would look at: what is due after it
/// is measured one step earlier (Kerbl et al.'s program measures before the update, too).
inline bool evaluation_due(const TrainingSettings& s, std::uint64_t every,
                           std::uint64_t steps_done) {
    if (every == 0) return false;
    const auto due_here = [&](std::uint64_t step) { return step % every == 0; };
    const auto resets = [&](std::uint64_t step) { return opacity_reset_due(s, step); };
    return (due_here(steps_done) && !resets(steps_done)) ||
           (due_here(steps_done + 1) && resets(steps_done + 1));
}
/// Large Gaussians are pruned only once an opacity reset has had its effect.
inline bool prunes_large(const TrainingSettings& s, std::uint64_t steps_done) {
    return s.opacity_reset_every > 0 && static_cast<double>(steps_done) > s.opacity_reset_every;
}

}  // namespace gs
