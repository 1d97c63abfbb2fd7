// A scene of fewer Gaussians: what nobody sees goes, neighbours that look alike become one. Two
// become the one Gaussian of their common mass, mean and covariance, the pairs first that are most
// alike in shape, place and colour, and least seen. Sources: the moments of a mixture, by mass as
// in PlayCanvas' splat-transform (decimate); the divergence of normal distributions; what is seen:
// renderer/raster/blend_weights.h.
#pragma once

#include <span>
#include <vector>

#include "base/expected.h"
#include "base/progress.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// Area of an ellipsoid's surface, by Thomsen's formula (p = 1.6075, within 1.1 %); `scale`:
/// half axes.
double ellipsoid_area(Vec3d scale);
/// Rows a and b as one: mass is opacity x area, everything else their mean by mass; the opacity is
/// what the mass asks for, at most one's. Harmonics are taken as they are. `row` of `out` gets it.
void merge_rows(const GaussianModel& model, std::size_t a, std::size_t b, GaussianModel& out,
                std::size_t row);

/// At most `n` rows. `weights`: how much of each row is seen (blend_weights()); rows of which
/// nothing is seen, or that have a parameter that is no number, go first. The same for every number
/// of threads. Errors: cancelled.
Result<GaussianModel> merged_to(const GaussianModel& model, std::span<const double> weights,
                                std::size_t n, const Progress& progress = {});

/// The scene at fewer and fewer Gaussians: [0] is the model itself, each other one a third of the
/// one before it, all seen alike, down to `coarsest` or less. Errors: cancelled.
inline constexpr std::size_t kCoarsestLevel = 20'000;
Result<std::vector<GaussianModel>> levels_of(const GaussianModel& model,
                                             const Progress& progress = {},
                                             std::size_t coarsest = kCoarsestLevel);

}  // namespace gs
