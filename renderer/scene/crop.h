// A model and a box: which of its Gaussians lie outside, and the model without them. For training
// of a part of a scene, exports and conversions.
#pragma once

#include <cstdint>
#include <vector>

#include "renderer/scene/clip_box.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// Rows whose means lie outside, NaN included, ascending.
std::vector<std::uint32_t> rows_outside(const GaussianModel& model, const ClipBox& box);
/// The Gaussians whose means lie inside, in their order.
GaussianModel cropped(const GaussianModel& model, const ClipBox& box);

}  // namespace gs
