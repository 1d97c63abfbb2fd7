// The decisions of density control for one Gaussian, on host and device: what becomes of it, and
// where the children of a split lie. density.cpp and cuda/density_kernels.cu apply them to all.
// Source: Kerbl et al. 2023, section 5.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "base/rng.h"
#include "base/vec.h"
#include "renderer/math/project.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

inline constexpr float kResetOpacity = 0.01f;
inline constexpr float kSplitShrink = 1.6f;  ///< 0.8 x the number of children
inline constexpr float kLogSplitShrink = 0.47000366f;

enum class Fate : std::uint8_t { keep, clone, split, remove };
/// What a row of the next model is to its source. `original`: kept, with a copy beside it.
enum class Origin : std::uint8_t { kept, original, copy, first_child, second_child };
/// Its moments are kept.
GS_HD inline bool keeps_moments(Origin origin) {
    return origin == Origin::kept || origin == Origin::original;
}
GS_HD inline bool is_child(Origin origin) {
    return origin == Origin::first_child || origin == Origin::second_child;
}
/// Rows that come of one.
GS_HD inline std::uint32_t rows_of(Fate fate) {
    return fate == Fate::remove ? 0 : fate == Fate::keep ? 1 : 2;
}

/// TrainingSettings for one round, sizes in world units.
struct DensityRules {
    double prune_opacity, densify_gradient, clone_scale, prune_scale, prune_screen_px;
    bool prune_large;
    bool revised_opacity;  ///< of clones and drawn children: revised_logit()
    bool long_axis;        ///< what grows is split along its longest axis: kAlongAxis
    bool cropped;          ///< what lies outside the box goes
    Vec3f crop_lo, crop_hi;
};
/// What the rules look at.
struct DensityRow {
    bool locked;  ///< stays as it is
    Vec3f mean;
    float opacity_logit, largest_log_scale;
    bool finite;                           ///< all of its parameters
    float gradient_sum, views, radius_px;  ///< statistics
};

/// Mean gradient of the projected mean. More than a limit allows: the largest grow.
GS_HD inline float density_pull(float gradient_sum, float views) {
    return gradient_sum / (views > 1.0f ? views : 1.0f);
}

GS_HD inline Fate fate_of(const DensityRow& row, const DensityRules& rules, bool may_grow) {
    if (row.locked) return Fate::keep;
    if (rules.cropped && !math::inside(rules.crop_lo, rules.crop_hi, row.mean)) return Fate::remove;
    const double opacity = 1.0 / (1.0 + math::exp(-static_cast<double>(row.opacity_logit)));
    if (!(opacity >= rules.prune_opacity) || !row.finite) return Fate::remove;
    const double scale = static_cast<double>(math::exp(row.largest_log_scale));
    const double gradient = static_cast<double>(density_pull(row.gradient_sum, row.views));
    if (may_grow && gradient >= rules.densify_gradient) {
        if (!rules.long_axis && scale <= rules.clone_scale) return Fate::clone;
        return rules.prune_large && scale / static_cast<double>(kSplitShrink) > rules.prune_scale
                   ? Fate::remove
                   : Fate::split;
    }
    const bool wide =
        rules.prune_screen_px > 0 && static_cast<double>(row.radius_px) > rules.prune_screen_px;
    return rules.prune_large && (scale > rules.prune_scale || wide) ? Fate::remove : Fate::keep;
}

/// The logit of 1 - sqrt(1 - opacity): two Gaussians of it, one before the other, cover as much as
/// one did (Rota Bulo et al. 2024, "Revising densification in Gaussian splatting", section 4.2).
GS_HD inline float revised_logit(float logit) {
    // With t = sqrt(1 - o): o' / (1 - o') = (1 - t) / t, and 1 - t = o / (1 + t).
    const double opacity = 1.0 / (1.0 + math::exp(-static_cast<double>(logit))),
                 through = math::sqrt(1.0 / (1.0 + math::exp(static_cast<double>(logit))));
    return static_cast<float>(math::log(opacity / ((1.0 + through) * through)));
}

/// Children along the longest axis, in their parent's terms: 0.5 of its size from its mean, 0.5 of
/// its size along the axis and 0.85 across it, 0.6 of its opacity. As in LichtFeld Studio's MRNF:
/// half of the parent's mass, and half of its variance along the axis.
struct AlongAxis {
    float place = 0.5f, log_along = -0.69314718f, log_across = -0.16251893f;
    double opacity = 0.6;
};
inline constexpr AlongAxis kAlongAxis;
GS_HD inline int longest_axis(Vec3f size) {
    return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
}

GS_HD inline float standard_normal(std::uint64_t seed, std::uint64_t stream,
                                   std::uint64_t counter) {
    const double u =
        1.0 - static_cast<double>(random_uniform(seed, stream, 2 * counter));  // never 0
    const double v = static_cast<double>(random_uniform(seed, stream, 2 * counter + 1));
    return static_cast<float>(math::sqrt(-2.0 * math::log(u)) * ::cos(6.283185307179586 * v));
}

/// Where child 0 or 1 of the Gaussian of `row` lies after `step` steps: at a point drawn from it,
/// or on one side of its longest axis.
GS_HD inline Vec3f child_mean(bool long_axis, Vec3f mean, Vec3f log_scale, Quatd q,
                              std::uint64_t row, std::uint64_t seed, std::uint64_t step,
                              std::uint64_t child) {
    const float scales[3] = {log_scale.x, log_scale.y, log_scale.z};
    double d[3];
    for (int axis = 0; axis < 3; ++axis) {
        const std::uint64_t draw = (row * 2 + child) * 4 + static_cast<std::uint64_t>(axis);
        const float side = child == 0 ? kAlongAxis.place : -kAlongAxis.place;
        const float place = !long_axis                        ? standard_normal(seed, step, draw)
                            : axis == longest_axis(log_scale) ? side
                                                              : 0.0f;
        d[axis] = static_cast<double>(place) * math::exp(static_cast<double>(scales[axis]));
    }
    const double length = math::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    const Mat3d rotation =
        math::unit_quat_to_rotation(Quatd{q.w / length, q.x / length, q.y / length, q.z / length});
    const Vec3d offset = rotation * Vec3d{d[0], d[1], d[2]};
    return {static_cast<float>(mean.x + offset.x), static_cast<float>(mean.y + offset.y),
            static_cast<float>(mean.z + offset.z)};
}

/// What a row becomes in a round. `value(plane)`: of its source, to be changed; `mean`: where it
/// was put.
template <class Values>
GS_HD void become(const Values& value, Origin origin, Vec3f mean, const DensityRules& rules) {
    if (origin == Origin::kept) return;
    float& logit = value(kOpacityLogits);
    if (rules.long_axis)  // o / (1 - o) of the share of it that is left
        logit = static_cast<float>(
            math::log(kAlongAxis.opacity /
                      (1 - kAlongAxis.opacity + math::exp(-static_cast<double>(logit)))));
    else if (rules.revised_opacity)
        logit = revised_logit(logit);
    if (!is_child(origin)) return;
    const int longest =
        longest_axis({value(kLogScales), value(kLogScales + 1), value(kLogScales + 2)});
    const float means[3] = {mean.x, mean.y, mean.z};
    for (int axis = 0; axis < 3; ++axis) {
        const float log_size = !rules.long_axis  ? -kLogSplitShrink
                               : axis == longest ? kAlongAxis.log_along
                                                 : kAlongAxis.log_across;
        value(kMeans + axis) = means[axis];
        value(kLogScales + axis) += log_size;
    }
}

}  // namespace gs
