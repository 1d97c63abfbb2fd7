// Reduces a scene's Gaussians with little visible change from a set of cameras. Gaussians without
// effect on the pictures are removed, neighbours are merged (renderer/edit/merge.h), colours are
// fitted to the original pictures (renderer/raster/fit_colors.h). Called by convert --simplify and
// by the studio's edit.simplify.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/progress.h"
#include "renderer/raster/blend_weights.h"
#include "renderer/scene/capture.h"

namespace gs {

/// Number of Gaussians for "200000" or "50%" of `count`, at most `count`. Errors (usage): neither a
/// count nor a percentage; none would be left.
Result<std::size_t> simplified_count(const std::string& to, std::size_t count);
/// Cameras of the capture's training photos.
std::vector<Camera> cameras_to_look_from(const Capture& capture);
/// Cameras all around the Gaussians, at three heights.
std::vector<Camera> cameras_to_look_from(const GaussianModel& model);
/// At most `n` Gaussians. Pictures are drawn from cameras_to_weigh(). Errors: no camera, cancelled.
Result<GaussianModel> simplified(Rasterizer& rasterizer, const GaussianModel& model, std::size_t n,
                                 std::vector<Camera> cameras, const Progress& progress = {});

}  // namespace gs
