#include "app/cli/cases/scenes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "app/cli/proof_scene.h"
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

Likeness compare(const RenderResult& got, const RenderResult& truth) {
    Likeness out;
    const std::size_t n = truth.color.pixels();
    for (std::size_t i = 0; i < n; ++i) {
        bool same = true;
        for (std::size_t c = 0; c < 3; ++c)
            same = same && std::abs(got.color.values[c * n + i] - truth.color.values[c * n + i]) <=
                               kColorLimit;
        out.pixels += same ? 0 : 1;
    }
    const std::uint64_t a = got.counters.visible, b = truth.counters.visible;
    out.visible = a > b ? a - b : b - a;
    out.alike = out.pixels <= n / 200 && out.visible <= b / 200;
    return out;
}
std::string text_of(const Likeness& l) {
    return fmt::format(
        "{} pixels differ from the CPU's by more than {:.0e}, {} Gaussians are seen by only one of "
        "them",
        l.pixels, kColorLimit, l.visible);
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
