// How far what a model shows a lidar's beams is from what came back, and what that asks of the
// model: that all light is taken, and where the return came from. Every Gaussian is asked by
// itself: of the mean range alone (Hess et al. 2025, SplatAD) a few that lie before the surface and
// a few behind it are as good as one on it, and a surface stays a cloud. As the line-of-sight loss
// of Rematas et al. 2022, "Urban Radiance Fields", with a distance in the place of its two terms.
#pragma once

#include <span>

#include "renderer/rays/rays.h"
#include "trainer/settings/trainer_types.h"

namespace gs {

/// Means over a step's beams, before the step.
struct LidarTerms {
    double range = kNotMeasured;  ///< light x min(its distance from the return, kFarOff), m; after
                                  ///< backward
    double dark = kNotMeasured;   ///< -ln alpha: how little of the light is stopped
    std::size_t beams = 0;
};

inline constexpr float kFarOff = 2;  ///< m from the return; what is taken farther off counts alike,
                                     ///< and is not pulled: it may be another surface, or moving
inline constexpr double kLeastAlpha = 0.05;  ///< less light stopped counts as this

/// `ranges` [ray]: measured, m along it. `v`: the gradient of weight x (range + dark) with respect
/// to `image`.
LidarTerms lidar_loss(const RayImage& image, std::span<const float> ranges, double weight,
                      RayImageGradient& v);

}  // namespace gs
