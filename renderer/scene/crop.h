// Parts of a model: some of its rows, or those in a box. For edits, fixes, training of a part of a
// scene, exports and conversions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "renderer/scene/clip_box.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// A model of these rows, in this order.
GaussianModel gathered(const GaussianModel& model, std::span<const std::uint32_t> rows);
/// Rows whose means lie outside, NaN included, ascending.
std::vector<std::uint32_t> rows_outside(const GaussianModel& model, const ClipBox& box);
/// The Gaussians whose means lie inside, in their order.
GaussianModel cropped(const GaussianModel& model, const ClipBox& box);

}  // namespace gs
