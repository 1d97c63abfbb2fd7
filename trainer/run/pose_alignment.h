// Scores of held-out photos from where the model has them: the pose of a photo that was held out is
// as wrong as those of the others were, and is in the capture's frame, not in the run's. So its
// camera is moved by a few steps against the photo while the model stays as it is, and what is
// scored then is the scene, not the pose (as Lin et al. 2021, "BARF", score). Called at the end of
// runs that correct poses.
#pragma once

#include <functional>
#include <vector>

#include "base/progress.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"
#include "trainer/settings/trainer_types.h"

namespace gs {

inline constexpr int kAlignmentSteps = 60;  ///< each a forward and a backward of the photo

/// A view's camera.
using CameraOf = std::function<Camera(std::size_t)>;

/// As evaluate_model(), each photo from its camera after kAlignmentSteps steps of PoseRefinement.
/// The model and the capture stay as they are. `progress` may cancel: what is done is returned.
/// `given`: the cameras before it, where they are not the capture's.
Evaluation evaluate_aligned(const GaussianModel& model, const Capture& capture,
                            const std::vector<std::size_t>& views, Rasterizer& rasterizer,
                            const RenderOptions& options, const Progress& progress = {},
                            const CameraOf& given = {});

}  // namespace gs
