// Scene parameters in double precision, planes as in GaussianModel. The same type holds gradients
// and moments.
#pragma once

#include <vector>

#include "renderer/scene/gaussian_model.h"

namespace gs::reference {

struct Parameters {
    std::size_t count = 0;
    int sh_degree = 0;
    std::vector<double> values;  ///< [plane_count(sh_degree)][count]

    Parameters() = default;
    /// All zero.
    Parameters(std::size_t n, int degree);
    explicit Parameters(const GaussianModel& model);

    int planes() const { return plane_count(sh_degree); }
    double& at(int plane, std::size_t i) {
        return values[static_cast<std::size_t>(plane) * count + i];
    }
    double at(int plane, std::size_t i) const {
        return values[static_cast<std::size_t>(plane) * count + i];
    }
    /// Coefficient of basis `k` (0 .. 15), channel `c`.
    double sh(int k, int c, std::size_t i) const { return at(sh_plane(k, c), i); }
    double& sh(int k, int c, std::size_t i) { return at(sh_plane(k, c), i); }
    static int sh_plane(int k, int c) { return k == 0 ? kSh0 + c : kShRest + 3 * (k - 1) + c; }
    /// Rounded to float.
    GaussianModel to_model() const;
};

}  // namespace gs::reference
