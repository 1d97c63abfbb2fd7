// Where to go around to see a model.
#pragma once

#include "renderer/scene/camera_path.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// Around the middle of the Gaussians; which way is up cannot be known from them, so it is -y as in
/// most captures.
PathPlace place_of(const GaussianModel& model);

}  // namespace gs
