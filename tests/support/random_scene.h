// Seeded random Gaussians and cameras for tests: the same numbers on every machine.
#pragma once

#include <cstdint>

#include "renderer/scene/camera.h"
#include "renderer/scene/gaussian_model.h"

namespace gs::test {

struct SceneRecipe {
    std::size_t count = 300;
    int sh_degree = 3;
    std::uint64_t seed = 1;
    float extent = 1.5f;  ///< means are in a cube of this half side around the origin
    float scale_lo = 0.02f, scale_hi = 0.25f;  ///< standard deviations, log-uniform, per axis
    float opacity_lo = 0.05f, opacity_hi = 0.95f;
    float sh_rest = 0.3f;  ///< magnitude of the higher coefficients
};
GaussianModel random_model(const SceneRecipe& recipe);

/// The same Gaussians before a sky whose red is cut off at 0 in some directions.
GaussianModel under_sky(GaussianModel model, int degree = 3);

/// Camera number `index` on a sphere of radius `distance` around the origin, looking near it; fx !=
/// fy, off-centre.
Camera random_camera(std::uint64_t seed, std::uint64_t index, int width, int height,
                     double distance = 5.0);

/// Uniform in [lo, hi).
double random_in(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter, double lo,
                 double hi);

}  // namespace gs::test
