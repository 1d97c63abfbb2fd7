#include "app/cli/check/proof_scene.h"

#include <cmath>

#include "base/rng.h"

namespace gs::cli {
namespace {

constexpr float kHalfSide = 1.5f;

}  // namespace

GaussianModel make_proof_model(const ProofScene& scene) {
    GaussianModel model(scene.count, scene.sh_degree);
    const float log_lo = std::log(scene.scale_lo), log_hi = std::log(scene.scale_hi);
    for (int p = 0; p < model.planes(); ++p)
        for (std::size_t i = 0; i < scene.count; ++i) {
            const float u = random_uniform(scene.seed, static_cast<std::uint64_t>(p), i);
            float value = 0.5f * (2 * u - 1);  // higher SH coefficients
            if (p < kLogScales)
                value = kHalfSide * (2 * u - 1);
            else if (p < kQuats)
                value = log_lo + u * (log_hi - log_lo);
            else if (p < kOpacityLogits)
                value = 2 * u - 1;
            else if (p == kOpacityLogits)
                value = 6 * u - 3;  // opacity 0.05 .. 0.95
            else if (p < kShRest)
                value = 3 * u - 1.5f;
            model.at(p, i) = value;
        }
    return model;
}

Camera make_proof_camera(std::uint64_t seed, std::uint64_t index, int width, int height) {
    const auto draw = [&](std::uint64_t k, double lo, double hi) {
        return lo + (hi - lo) * random_uniform(seed, 9000 + index, k);
    };
    const double azimuth = draw(0, 0, 6.2831853), z = draw(1, -0.6, 0.6),
                 ring = std::sqrt(1 - z * z), distance = draw(2, 4, 5);
    Camera camera = look_at(
        {distance * ring * std::cos(azimuth), distance * z, distance * ring * std::sin(azimuth)},
        {draw(3, -0.2, 0.2), draw(4, -0.2, 0.2), 0}, {0, 1, 0}, width, height, draw(5, 0.6, 0.9));
    camera.cx += draw(6, -0.04, 0.04) * width;
    camera.fy *= draw(7, 0.95, 1.05);
    return camera;
}

}  // namespace gs::cli
