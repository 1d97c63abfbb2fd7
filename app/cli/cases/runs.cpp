#include "app/cli/cases/runs.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "app/cli/check/proof_scene.h"
#include "base/rng.h"

namespace gs::cli {

std::shared_ptr<Capture> case_capture(int width, int height, bool masked) {
    auto capture = std::make_shared<Capture>();
    capture->name = "cases";
    for (std::uint64_t v = 0; v < 4; ++v) {
        View view;
        view.name = fmt::format("{}.png", v);
        view.camera = make_proof_camera(51, v, width, height);
        view.photo = Image8{width, height, 3, {}};
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                for (int c = 0; c < 3; ++c)
                    view.photo.bytes.push_back(static_cast<std::uint8_t>(
                        128 + 100 * std::sin(0.2 * x * (c + 1) + static_cast<double>(v)) *
                                  std::cos(0.15 * y)));
        if (masked && v == 2) {
            view.mask = Image8{width, height, 1, {}};
            for (std::size_t i = 0; i < view.mask.pixels(); ++i)
                view.mask.bytes.push_back(i / 7 % 3 == 0 ? 0 : 255);
        }
        view.test = v == 0;
        capture->views.push_back(std::move(view));
    }
    return capture;
}

RunArrays fresh_run(const GaussianModel& model, bool compact) {
    TrainingSettings settings;
    settings.compact_moments = compact;
    return new_run(model.resized(padded_capacity(model.count), model.sh_degree), settings);
}

RunArrays busy_run(std::size_t count, std::uint64_t seed, bool locks, bool compact) {
    RunArrays out = fresh_run(make_proof_model({count, 2, seed, 0.002f, 0.25f}), compact);
    AdamState& adam = out.adam;
    adam.planes = out.model.planes();
    adam.base = 5;
    adam.steps = 9;
    adam.highest = {1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3};
    for (auto& table : adam.pending) table = {4e-4, 3e-4, 2e-4, 1e-4, 0};
    for (std::size_t i = 0; i < adam.last_step.size(); ++i)
        adam.last_step[i] = i < count ? static_cast<std::uint32_t>(5 + i % 5) : 9u;
    const std::size_t per_block = static_cast<std::size_t>(out.model.planes()) * kBlock;
    for (std::size_t i = 0; i < out.model.capacity / kBlock * per_block; ++i) {
        if (i / per_block * kBlock + i % kBlock >= count) continue;
        const std::size_t first = i / kBlock * 2 * kBlock + i % kBlock, second = first + kBlock;
        const float m = 1e-2f * (random_uniform(seed, 9, first) - 0.5f),
                    v = 1e-3f * (random_uniform(seed, 9, second) + 0.01f);
        if (compact) {
            adam.codes[i] = static_cast<std::uint16_t>(math::encode_moments({m, v}, 0));
        } else {
            adam.moments[first] = m;
            adam.moments[second] = v;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        out.statistics.views[i] = static_cast<float>(i % 5);
        out.statistics.gradient_sum[i] =
            4e-4f * random_uniform(seed, 10, i / 2) * out.statistics.views[i];
        out.statistics.radius_px[i] = 30 * random_uniform(seed, 11, i);
        if (i % 17 == 3) out.model.at(kOpacityLogits, i) = -8.0f;
        if (locks && i % 23 == 1) out.identity.tags[i] |= kLockedTag;
    }
    if (count > 20) out.model.at(kSh0 + 1, 20) = std::numeric_limits<float>::quiet_NaN();
    return out;
}

StepPlan case_plan(const Capture& capture, std::size_t view, std::uint64_t step, int sh_degree,
                   double rates) {
    StepPlan plan{.step = step, .view_index = view, .view = &capture.views[view]};
    plan.camera = plan.view->camera;
    plan.options.depth = false;
    plan.options.sh_degree = sh_degree;
    plan.rates = learning_rates(TrainingSettings(), 1.0, step);
    for (double& rate : plan.rates) rate *= rates;
    plan.gathers_statistics = true;
    plan.lambda_dssim = 0.2;
    return plan;
}

}  // namespace gs::cli
