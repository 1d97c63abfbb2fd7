#include "tests/support/random_scene.h"

#include <cmath>

#include "base/rng.h"

namespace gs::test {

double random_in(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter, double lo,
                 double hi) {
    return lo + (hi - lo) * static_cast<double>(random_bits(seed, stream, counter) >> 11) * 0x1p-53;
}

GaussianModel random_model(const SceneRecipe& recipe) {
    GaussianModel model(recipe.count, recipe.sh_degree);
    for (std::size_t i = 0; i < recipe.count; ++i) {
        const auto draw = [&](int plane, double lo, double hi) {
            model.at(plane, i) = static_cast<float>(
                random_in(recipe.seed, static_cast<std::uint64_t>(plane), i, lo, hi));
        };
        for (int k = 0; k < 3; ++k) {
            draw(kMeans + k, -recipe.extent, recipe.extent);
            draw(kLogScales + k, std::log(recipe.scale_lo), std::log(recipe.scale_hi));
            draw(kSh0 + k, -1.5, 1.5);
        }
        for (int k = 0; k < 4; ++k) draw(kQuats + k, -1.0, 1.0);
        const double opacity =
            random_in(recipe.seed, 1000, i, recipe.opacity_lo, recipe.opacity_hi);
        model.at(kOpacityLogits, i) = static_cast<float>(std::log(opacity / (1 - opacity)));
        for (int p = kShRest; p < model.planes(); ++p) draw(p, -recipe.sh_rest, recipe.sh_rest);
    }
    return model;
}

GaussianModel under_sky(GaussianModel model, int degree) {
    model.sky.degree = degree;
    for (std::size_t i = 0; i < static_cast<std::size_t>(3 * sh_bases(degree)); ++i)
        model.sky.sh[i] = static_cast<float>(random_in(77, 6000, i, -0.5, 0.5));
    model.sky.sh[0] = -1.2f;
    return model;
}

Camera random_camera(std::uint64_t seed, std::uint64_t index, int width, int height,
                     double distance) {
    const std::uint64_t stream = 5000 + index;
    const double around = random_in(seed, stream, 0, 0, 6.283185307179586),
                 up = random_in(seed, stream, 1, -0.7, 0.7);
    const double ring = std::sqrt(1 - up * up);
    const Vec3d eye{distance * ring * std::cos(around), distance * up,
                    distance * ring * std::sin(around)};
    const Vec3d target{random_in(seed, stream, 2, -0.3, 0.3), random_in(seed, stream, 3, -0.3, 0.3),
                       0};
    Camera camera =
        look_at(eye, target, {0, 1, 0}, width, height, random_in(seed, stream, 4, 0.6, 1.0));
    camera.fx *= random_in(seed, stream, 5, 0.9, 1.1);
    camera.cx += random_in(seed, stream, 6, -0.05, 0.05) * width;
    camera.cy += random_in(seed, stream, 7, -0.05, 0.05) * height;
    return camera;
}

}  // namespace gs::test
