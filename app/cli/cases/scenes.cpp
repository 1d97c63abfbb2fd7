#include "app/cli/cases/scenes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "app/cli/check/proof_scene.h"
#include "app/verify/frame_check.h"
#include "base/rng.h"

namespace gs::cli {

CaseScene case_scene(std::size_t count, int degree, int width, int height, std::uint64_t seed) {
    return {make_proof_model({count, degree, seed}), make_proof_camera(seed, 0, width, height)};
}

CaseScene crowded_scene(std::size_t count, int width, int height, float opacity,
                        std::uint64_t seed) {
    CaseScene out{make_proof_model({count, 1, seed, 0.3f, 0.9f}), axis_camera(width, height)};
    const float logit = std::log(opacity / (1 - opacity));
    for (std::size_t i = 0; i < count; ++i) {
        for (int axis = 0; axis < 2; ++axis) out.model.at(kMeans + axis, i) *= 0.3f;
        out.model.at(kOpacityLogits, i) = logit + 0.4f * random_uniform(seed, 500, i) - 0.2f;
    }
    return out;
}

CaseScene covering_scene(std::size_t count, std::size_t every, int width, int height) {
    CaseScene out = case_scene(count, 1, width, height, 5);
    for (std::size_t i = 0; i < count; i += every)
        for (int axis = 0; axis < 3; ++axis)
            out.model.at(kLogScales + axis, i) =
                std::log(1.0f + 2.0f * random_uniform(5, 600, 3 * i + static_cast<unsigned>(axis)));
    return out;
}

void break_every_other(GaussianModel& model) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float bad[] = {
        std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 1e38f, -1e38f, 1e-42f};
    for (std::size_t i = 0; 2 * i < model.count; ++i)
        model.at(static_cast<int>(i) % model.planes(), 2 * i) = bad[i / 2 % 6];
}

std::vector<ComparisonRow> likeness(const RenderResult& got, const RenderResult& truth) {
    const std::size_t n = truth.color.pixels();
    int apart = 0;
    for (std::size_t i = 0; i < n; ++i) {
        ComparisonRow pixel{"colour", kColorLimit};
        for (std::size_t at = i; at < 3 * n; at += n)
            pixel.add(truth.color.values[at], got.color.values[at]);
        apart += pixel.passed() ? 0 : 1;
    }
    std::vector<ComparisonRow> out{{fmt::format("pixels beyond {:.0e} of the CPU's", kColorLimit),
                                    static_cast<double>(n / 200)},
                                   {"Gaussians that only one of them sees",
                                    static_cast<double>(truth.counters.visible / 200)}};
    out[0].add(0, apart);
    out[1].add(static_cast<double>(truth.counters.visible),
               static_cast<double>(got.counters.visible));
    return out;
}

CaseScene through_lens(CaseScene scene, CameraModel model, double angle,
                       std::initializer_list<double> coefficients) {
    Camera& c = scene.camera;
    c.model = model;
    std::copy(coefficients.begin(), coefficients.end(), c.distortion.begin());
    const bool whole = model == CameraModel::equirectangular;
    c.fx = c.fy = c.width / angle;
    c.cx = 0.5 * c.width + (whole ? 0 : 1.5);
    c.cy = 0.5 * c.height;
    if (whole) c.fy = c.height / std::numbers::pi;
    return scene;
}

Camera axis_camera(int width, int height) {
    return look_at({0, 0, -4}, {0, 0, 0}, {0, -1, 0}, width, height, 0.7);
}

}  // namespace gs::cli
