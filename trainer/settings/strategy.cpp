#include "trainer/settings/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trainer/settings/schedule.h"

namespace gs {
namespace {

std::size_t most_gaussians(const TrainingSettings& s) {
    return static_cast<std::size_t>(std::max(1.0, s.max_gaussians));
}

/// Kerbl et al. 2023: what is pulled hard is cloned or split, what is faint or oversized goes.
class AdaptiveDensity : public Strategy {
  public:
    bool gathers_statistics(const TrainingSettings& s, std::uint64_t steps_done) const override {
        return static_cast<double>(steps_done) < s.densify_until;
    }
    RoundPlan after_step(const TrainingSettings& s, const RunFacts& facts) const override {
        RoundPlan plan;
        if (densify_due(s, facts.steps)) plan.kind = RoundPlan::Kind::densify;
        plan.prune_large = prunes_large(s, facts.steps);
        plan.reset_opacity = opacity_reset_due(s, facts.steps);
        plan.settings = s;
        return plan;
    }
    std::size_t target(const TrainingSettings& s, const RunFacts&) const override {
        return most_gaussians(s);
    }
    std::string describe(const TrainingSettings& s) const override {
        return fmt::format("adaptive density control, {} at most", most_gaussians(s));
    }
};

/// The same, but how many there are is known beforehand: every round fills up to a curve, with the
/// Gaussians that most is to be gained from.
class Budget final : public AdaptiveDensity {
  public:
    RoundPlan after_step(const TrainingSettings& s, const RunFacts& facts) const override {
        RoundPlan plan = AdaptiveDensity::after_step(s, facts);
        plan.settings.max_gaussians = static_cast<double>(target(s, facts));
        // Everybody may grow; the curve says how many do.
        plan.settings.densify_gradient = plan.settings.densify_absgrad = 0;
        return plan;
    }
    std::size_t target(const TrainingSettings& s, const RunFacts& facts) const override {
        const double every = std::max(1.0, s.densify_every);
        // Rounds are at multiples of `every` behind densify_from and before densify_until.
        const auto rounds_before = [&](double step) {
            return std::max(0.0, std::ceil(step / every) - 1 - std::floor(s.densify_from / every));
        };
        const double rounds = rounds_before(s.densify_until),
                     done = std::min(rounds, rounds_before(static_cast<double>(facts.steps) + 1));
        return growth_curve(facts.at_start, most_gaussians(s), static_cast<std::size_t>(done),
                            static_cast<std::size_t>(rounds));
    }
    std::string describe(const TrainingSettings& s) const override {
        return fmt::format("grows along a curve to {}", most_gaussians(s));
    }
};

/// Kheradmand et al. 2024 (3DGS-MCMC): the dead go where the living are, five in a hundred are
/// added each time, nothing is removed. Needs no gradients of projected means unless it is set to
/// go by them.
class Mcmc final : public Strategy {
  public:
    bool gathers_statistics(const TrainingSettings& s, std::uint64_t steps_done) const override {
        return s.relocate_by_pull && static_cast<double>(steps_done) < s.densify_until;
    }
    RoundPlan after_step(const TrainingSettings& s, const RunFacts& facts) const override {
        RoundPlan plan;
        if (densify_due(s, facts.steps)) plan.kind = RoundPlan::Kind::relocate;
        plan.settings = s;
        return plan;
    }
    std::size_t target(const TrainingSettings& s, const RunFacts&) const override {
        return most_gaussians(s);
    }
    std::string describe(const TrainingSettings& s) const override {
        return fmt::format("MCMC, up to {}", most_gaussians(s));
    }
};

}  // namespace

const Strategy& strategy_of(const TrainingSettings& settings) {
    static const AdaptiveDensity adaptive;
    static const Mcmc mcmc;
    static const Budget budget;
    switch (settings.strategy) {
        case StrategyKind::mcmc:
            return mcmc;
        case StrategyKind::budget:
            return budget;
        case StrategyKind::adc:
            break;
    }
    return adaptive;
}

std::size_t growth_curve(std::size_t first, std::size_t budget, std::size_t round,
                         std::size_t rounds) {
    if (budget <= first || round >= rounds) return budget;
    const double x = static_cast<double>(round) / static_cast<double>(rounds);
    const double grown = static_cast<double>(budget - first) * x * (2 - x);
    return first + static_cast<std::size_t>(std::floor(grown));
}

}  // namespace gs
