#include "renderer/scene/covariance.h"

#include <algorithm>
#include <cmath>

namespace gs {

double determinant(const Mat3d& a) {
    return a.m[0][0] * (a.m[1][1] * a.m[2][2] - a.m[1][2] * a.m[2][1]) -
           a.m[0][1] * (a.m[1][0] * a.m[2][2] - a.m[1][2] * a.m[2][0]) +
           a.m[0][2] * (a.m[1][0] * a.m[2][1] - a.m[1][1] * a.m[2][0]);
}

void eigen(Mat3d a, Mat3d& vectors, double values[3]) {
    constexpr Mat3d kIdentity{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    vectors = kIdentity;
    for (int sweep = 0; sweep < 30; ++sweep)
        for (int p = 0; p < 2; ++p)
            for (int q = p + 1; q < 3; ++q) {
                if (a.m[p][q] == 0) continue;
                const double theta = (a.m[q][q] - a.m[p][p]) / (2 * a.m[p][q]);
                const double t =
                    (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
                const double c = 1 / std::sqrt(t * t + 1), s = t * c;
                Mat3d turn = kIdentity;
                turn.m[p][p] = turn.m[q][q] = c;
                turn.m[p][q] = s;
                turn.m[q][p] = -s;
                a = transpose(turn) * a * turn;
                vectors = vectors * turn;
            }
    for (int i = 0; i < 3; ++i) values[i] = a.m[i][i];
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
    Mat3d axes;
    double variances[3];
    eigen(covariance, axes, variances);
    if (determinant(axes) < 0)
        for (auto& row : axes.m) row[0] = -row[0];
    set_quat(model, i, quat_from_rotation(axes));
    for (int c = 0; c < 3; ++c)
        model.at(kLogScales + c, i) =
            static_cast<float>(0.5 * std::log(std::max(variances[c], 1e-60)));
}

}  // namespace gs
