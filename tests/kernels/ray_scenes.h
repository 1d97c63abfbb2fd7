// Gaussians and rays for the tests of the fast evaluation along rays, forward and backward.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "renderer/reference/parameters.h"
#include "renderer/scene/beam_angles.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/gaussian_model.h"
#include "tests/support/random_scene.h"

namespace gs::test {

inline GaussianModel model_of(const reference::Parameters& scene) {
    GaussianModel out(scene.count, 0);
    for (std::size_t i = 0; i < scene.count; ++i)
        for (int p = 0; p < kSh0; ++p) out.at(p, i) = static_cast<float>(scene.at(p, i));
    return out;
}
/// The oracle on what the model really holds.
inline reference::Parameters parameters_of(const GaussianModel& model) {
    reference::Parameters out(model.count, 0);
    for (std::size_t i = 0; i < model.count; ++i)
        for (int p = 0; p < kSh0; ++p) out.at(p, i) = static_cast<double>(model.at(p, i));
    return out;
}
/// Gaussians of all kinds around a sensor: near, far, thin, above, below, around its place.
inline GaussianModel around(std::size_t count, std::uint64_t seed) {
    GaussianModel out(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
        const auto r = [&](std::uint64_t k) {
            return static_cast<float>(random_in(seed, i, k, -1, 1));
        };
        const float far = std::exp(1.5f + 2.2f * r(0));
        for (int k = 0; k < 3; ++k) {
            out.at(kMeans + k, i) = far * r(1 + static_cast<std::uint64_t>(k));
            out.at(kLogScales + k, i) =
                std::log(0.03f * far) + 1.2f * r(4 + static_cast<std::uint64_t>(k));
        }
        for (int k = 0; k < 4; ++k)
            out.at(kQuats + k, i) = r(7 + static_cast<std::uint64_t>(k)) + (k == 0 ? 1e-3f : 0);
        out.at(kOpacityLogits, i) = 3 * r(11);
    }
    return out;
}
/// `rows` x `columns` beams, all around, while the sensor moves by `moved` and turns a little.
inline std::vector<CameraRay> beams_around(std::size_t rows, std::size_t columns, Vec3d moved,
                                           double steepest) {
    std::vector<CameraRay> out;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
            const double time = static_cast<double>(c) / static_cast<double>(columns);
            const BeamAngles a{
                3.1 - 6.283185 * time + 0.1 * time,
                steepest * (1 - 2 * static_cast<double>(r) / static_cast<double>(rows - 1))};
            out.push_back({(time - 0.5) * moved, direction_of(a), true});
        }
    return out;
}

}  // namespace gs::test
