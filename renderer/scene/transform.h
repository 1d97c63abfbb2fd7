// Moves Gaussians as a whole: positions, orientations, sizes and what they look like from where.
// Used by readers of formats that place their Gaussians in a scene (glTF), and where a scene is
// turned.
#pragma once

#include <vector>

#include "renderer/scene/gaussian_model.h"

namespace gs {

/// world = linear * p + translation.
struct Affine {
    Mat3d linear{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    Vec3d translation{};
};
Affine operator*(const Affine& a, const Affine& b);

/// The matrices that turn coefficients of degrees 1..3: matrix l - 1 has (2l + 1)^2 entries,
/// row-major, and gives the coefficients of the function that looks in direction `rotation * d` as
/// the old one in direction d. `rotation` is orthogonal; mirrors are allowed.
std::vector<std::vector<double>> sh_rotation(const Mat3d& rotation);

/// Applies `affine` to rows first .. first + count - 1. A linear part that is no rotation and
/// uniform scale changes the shape of each Gaussian, exactly; its harmonics turn with the nearest
/// rotation. Parallel.
void transform_rows(GaussianModel& model, std::size_t first, std::size_t count,
                    const Affine& affine);
/// The same sky around a scene that `linear` turns.
Sky turned(const Sky& sky, const Mat3d& linear);

}  // namespace gs
