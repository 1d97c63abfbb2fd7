// How far what a model shows a lidar's beams is from what came back, and what that asks of the
// model's picture along them. Range in L1 without the worst twentieth, light that is stopped at
// all, and a clear way there: the losses of SplatAD (Hess et al. 2025), with opacity in the place
// of its learned ray drop. Called by beam_step.
#pragma once

#include <span>

#include "renderer/rays/rays.h"
#include "trainer/settings/trainer_types.h"

namespace gs {

/// Means over a step's beams, before the step.
struct LidarTerms {
    double range = kNotMeasured;  ///< |expected range - measured|, of the beams that count, m
    double dark = kNotMeasured;   ///< -ln alpha: how little of the light is stopped
    double early = kNotMeasured;  ///< light taken well before the measured range; after backward
    std::size_t beams = 0, counted = 0;  ///< in all; whose range counts
};

inline constexpr double kRangeQuantile = 0.95;  ///< of |range differences|: worse ones do not count
inline constexpr double kLeastAlpha = 0.05;     ///< below it a beam has no range
inline constexpr float kClearance = 0.8f;       ///< m before the measured range that are not early

/// `ranges` [ray]: measured, m along it. `v`: the gradient of weight x (range + dark + early) with
/// respect to `image`, the light taken early included.
LidarTerms lidar_loss(const RayImage& image, std::span<const float> ranges, double weight,
                      RayImageGradient& v);

}  // namespace gs
