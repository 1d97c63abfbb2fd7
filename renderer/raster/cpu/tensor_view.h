// A camera of flat arrays (tensor_ops.h) as renderer/math takes it. For tensor_project.cpp, which
// sends Gaussians through it, and tensor_rays.cpp, which sends rays out. Private to raster/cpu.
#pragma once

#include <cstddef>
#include <vector>

#include "renderer/math/project_lens.h"
#include "renderer/raster/tensor_ops.h"

namespace gs::tensor {

/// In double. Depth is camera z. `bounded`: with the bounds of EWA's slopes, as make_pinhole; else
/// without any.
math::LensCamera<double> view_of(const CameraInput& in, std::size_t view, bool bounded);
std::vector<math::LensCamera<double>> views_of(const CameraInput& in, std::size_t count,
                                               bool bounded);

/// Of a place of the picture (px), when it is read. World axes.
CameraRay ray_of(const math::LensCamera<double>& view, Vec2<double> uv);

}  // namespace gs::tensor
