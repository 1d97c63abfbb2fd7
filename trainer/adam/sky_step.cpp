#include "trainer/adam/sky_step.h"

#include <algorithm>
#include <cmath>

#include "renderer/math/adam.h"
#include "trainer/settings/schedule.h"

namespace gs {

SkyPlan sky_plan(const TrainingSettings& settings, std::uint64_t steps) {
    SkyPlan plan;
    plan.batch = batch_of(settings);
    if (settings.sky == SkyKind::none) return plan;
    const double root_of_views = std::sqrt(plan.batch), t = static_cast<double>(steps) + 1;
    const auto betas = math::adam_betas(plan.batch);
    const double root = std::sqrt(1 - std::pow(betas.beta2, t));
    plan.rate =
        static_cast<float>(settings.lr_sky * root_of_views * root / (1 - std::pow(betas.beta1, t)));
    plan.epsilon =
        static_cast<float>(static_cast<double>(math::kAdamEpsilon) * root / root_of_views);
    return plan;
}

Sky initial_sky(const TrainingSettings& settings, const Sky& given) {
    if (settings.sky == SkyKind::none) return given;
    Sky out;
    out.degree = static_cast<int>(settings.sky) - static_cast<int>(SkyKind::constant);
    const int bases = sh_bases(std::min(out.degree, std::max(given.degree, 0)));
    if (!given.empty()) std::copy_n(given.sh.begin(), 3 * bases, out.sh.begin());
    return out;
}

void step_sky(Sky& sky, std::span<float> moments, const SkyPlan& plan,
              const SkyGradient& gradient) {
    if (!std::ranges::all_of(gradient, [](double g) {
            return std::abs(g) < static_cast<double>(math::kLargestAdamGradient);
        }))
        return;
    const auto betas = math::adam_betas_float(plan.batch);
    const auto numbers = static_cast<std::size_t>(3 * sh_bases(sky.degree));
    for (std::size_t i = 0; i < numbers; ++i) {
        float &m = moments[i], &v = moments[Sky::kNumbers + i];
        const auto next = math::adam_step(math::AdamCell<float>{sky.sh[i], m, v},
                                          static_cast<float>(gradient[i] / plan.batch), plan.rate,
                                          plan.epsilon, betas);
        sky.sh[i] = next.value;
        m = next.m;
        v = next.v;
    }
}

void SkyLearner::learn(const SkyPlan& plan, const BatchPart& part, const Camera& camera,
                       const ImageF& alpha, const ImageF* v_color, Sky& sky,
                       std::span<float> moments) {
    if (part.first()) sum_ = {};
    if (v_color != nullptr) {
        directions_.follow(camera);
        const SkyGradient more = sky_gradient(sky, directions_, alpha, *v_color);
        for (std::size_t i = 0; i < more.size(); ++i) sum_[i] += more[i];
    }
    if (part.last()) step_sky(sky, moments, plan, sum_);
}

}  // namespace gs
