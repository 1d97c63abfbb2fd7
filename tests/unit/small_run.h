// A small synthetic capture and settings that make a short run do everything a long one does. For
// tests of the trainer and of runs.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>

#include "base/rng.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"
#include "tests/support/required.h"
#include "trainer/settings/settings.h"

namespace gs::testing {

inline constexpr int kViews = 6;

inline bool same_bits(const GaussianModel& a, const GaussianModel& b) {
    return a.count == b.count && a.values.size() == b.values.size() &&
           std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0;
}

/// A textured ball of points seen from a ring of cameras; photos are a smooth pattern that moves
/// with the view.
inline std::shared_ptr<Capture> small_capture(int width = 48, int height = 40,
                                              std::size_t points = 300) {
    auto capture = std::make_shared<Capture>();
    capture->name = "small";
    for (int v = 0; v < kViews; ++v) {
        View view;
        view.name = fmt::format("view{}.png", v);
        const double angle = v * 1.0;
        view.camera = look_at({3 * std::cos(angle), -0.5, 3 * std::sin(angle)}, {0, 0, 0},
                              {0, -1, 0}, width, height, 0.9);
        view.photo = Image8{width, height, 3, {}};
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                for (int c = 0; c < 3; ++c)
                    view.photo.bytes.push_back(static_cast<std::uint8_t>(
                        128 + 100 * std::sin(0.2 * x * (c + 1) + v) * std::cos(0.15 * y)));
        view.test = v == 0;
        capture->views.push_back(std::move(view));
    }
    for (std::size_t i = 0; i < points; ++i) {
        SparsePoint p{.position = {random_uniform(1, 0, i) - 0.5f, random_uniform(1, 1, i) - 0.5f,
                                   random_uniform(1, 2, i) - 0.5f}};
        for (std::uint64_t c = 0; c < 3; ++c)
            p.rgb[c] = static_cast<std::uint8_t>(random_bits(1, 3 + c, i));
        capture->points.push_back(p);
    }
    return capture;
}

/// `s` for a run of 30 steps with a round of density control every `every`.
inline TrainingSettings in_30_steps(TrainingSettings s, int every) {
    s.steps = 30;
    s.sh_interval = 8;
    s.densify_from = 4;
    s.densify_until = 28;
    s.densify_every = every;
    s.noise_until = 26;
    return s;
}

inline TrainingSettings busy_settings() {
    TrainingSettings s = in_30_steps({}, 5);
    s.densify_gradient = 1e-5;
    s.opacity_reset_every = 13;
    s.max_gaussians = 2000;
    return s;
}

}  // namespace gs::testing
