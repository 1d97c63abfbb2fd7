// The shape of a Gaussian as a matrix, and back to standard deviations and a rotation. For what
// changes shapes: transforms, merging.
#pragma once

#include <cstddef>

#include "renderer/scene/camera.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

double determinant(const Mat3d& a);
struct ShapeAxes {
    Mat3d axes;           ///< a rotation; its columns are the axes
    double variances[3];  ///< along them, world units squared; rounding may leave less than zero
};
ShapeAxes axes_of(const Mat3d& covariance);

/// The quaternion of row `i`; that of no turn where all four numbers are zero.
Quatd quat_of(const GaussianModel& model, std::size_t i);
void set_quat(GaussianModel& model, std::size_t i, Quatd q);
/// R diag(s^2) R^T of row `i`, world units squared.
Mat3d covariance_of(const GaussianModel& model, std::size_t i);
/// Scales and rotation of row `i` from a covariance; variances below 1e-60 become that.
void set_covariance(GaussianModel& model, std::size_t i, const Mat3d& covariance);

}  // namespace gs
