#include "renderer/scene/covariance.h"

#include <algorithm>
#include <cmath>

#include "renderer/math/symmetric.h"

namespace gs {

double determinant(const Mat3d& a) {
    return a.m[0][0] * (a.m[1][1] * a.m[2][2] - a.m[1][2] * a.m[2][1]) -
           a.m[0][1] * (a.m[1][0] * a.m[2][2] - a.m[1][2] * a.m[2][0]) +
           a.m[0][2] * (a.m[1][0] * a.m[2][1] - a.m[1][1] * a.m[2][0]);
}

ShapeAxes axes_of(const Mat3d& covariance) {
    math::Square<3> a;
    for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t c = 0; c < 3; ++c) a[r][c] = covariance.m[r][c];
    const math::Square<3> axes = math::diagonalise(a);
    ShapeAxes out;
    for (std::size_t r = 0; r < 3; ++r) {
        out.variances[r] = a[r][r];
        for (std::size_t c = 0; c < 3; ++c) out.axes.m[r][c] = axes[r][c];
    }
    if (determinant(out.axes) < 0)
        for (auto& row : out.axes.m) row[0] = -row[0];
    return out;
}

Quatd quat_of(const GaussianModel& model, std::size_t i) {
    const Quatd q{model.at(kQuats, i), model.at(kQuats + 1, i), model.at(kQuats + 2, i),
                  model.at(kQuats + 3, i)};
    return q.w == 0 && q.x == 0 && q.y == 0 && q.z == 0 ? Quatd{1, 0, 0, 0} : q;
}
void set_quat(GaussianModel& model, std::size_t i, Quatd q) {
    const double values[4] = {q.w, q.x, q.y, q.z};
    for (int c = 0; c < 4; ++c) model.at(kQuats + c, i) = static_cast<float>(values[c]);
}

Mat3d covariance_of(const GaussianModel& model, std::size_t i) {
    Mat3d shape = rotation_from_quat(quat_of(model, i));
    for (int c = 0; c < 3; ++c) {
        const double scale = std::exp(static_cast<double>(model.at(kLogScales + c, i)));
        for (auto& row : shape.m) row[c] *= scale;
    }
    return shape * transpose(shape);
}

void set_covariance(GaussianModel& model, std::size_t i, const Mat3d& covariance) {
    const ShapeAxes shape = axes_of(covariance);
    set_quat(model, i, quat_from_rotation(shape.axes));
    for (int c = 0; c < 3; ++c)
        model.at(kLogScales + c, i) =
            static_cast<float>(0.5 * std::log(std::max(shape.variances[c], 1e-60)));
}

}  // namespace gs
