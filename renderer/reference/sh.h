// Real spherical harmonics to degree 3 and the colour of a Gaussian seen from a point. Source:
// Kerbl et al. 2023.
#pragma once

#include <array>

#include "renderer/reference/options.h"
#include "renderer/reference/parameters.h"
#include "renderer/scene/camera.h"

namespace gs::reference {

/// The 16 basis functions in direction `d` (length 1), and their derivatives with respect to d.
std::array<double, 16> sh_basis(Vec3d d);
std::array<Vec3d, 16> sh_basis_slopes(Vec3d d);

/// What is behind all Gaussians along a ray: sky or background.
Vec3d color_behind(const CameraRay& ray, const Options& options);
/// Adds to the gradient of Sky::sh.
void color_behind_backward(const CameraRay& ray, const Options& options, Vec3d v_color,
                           std::array<double, Sky::kNumbers>& gradient);

/// max(0, 0.5 + sum) of Gaussian i seen from `eye`.
Vec3d color_of(const Parameters& scene, std::size_t i, Vec3d eye, const Options& options);
/// Adds to the SH and mean gradients of Gaussian i.
void color_backward(const Parameters& scene, std::size_t i, Vec3d eye, const Options& options,
                    Vec3d v_color, Parameters& gradients);

}  // namespace gs::reference
