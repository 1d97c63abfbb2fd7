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
/// Gaussians that most is to be gained from. With `overgrow` the curve ends above the budget, and
/// after the last round the least visible Gaussians are removed (Fang and Wang 2024,
/// Mini-Splatting).
class Budget final : public AdaptiveDensity {
  public:
    RoundPlan after_step(const TrainingSettings& s, const RunFacts& facts) const override {
        RoundPlan plan = AdaptiveDensity::after_step(s, facts);
        plan.settings.max_gaussians = static_cast<double>(target(s, facts));
        // Everybody may grow; the curve says how many do.
        plan.settings.densify_gradient = plan.settings.densify_absgrad = 0;
        if (facts.gaussians > most_gaussians(s) && reduction_due(s, facts.steps))
            plan.keep = std::max(most_gaussians(s), facts.at_start);
        return plan;
    }
    std::size_t target(const TrainingSettings& s, const RunFacts& facts) const override {
        const Rounds rounds = rounds_of(s, facts.steps);
        if (rounds.done == rounds.all) return most_gaussians(s);
        return growth_curve(facts.at_start, peak_gaussians(s), rounds.done, rounds.all);
    }
    std::string describe(const TrainingSettings& s) const override {
        return fmt::format("grows along a curve to {}", peak_gaussians(s)) +
               (s.overgrow > 1 ? fmt::format(" and keeps {}", most_gaussians(s)) : "");
    }

  private:
    struct Rounds {
        std::size_t done, all;
    };
    /// They are at multiples of densify_every behind densify_from and before densify_until.
    static Rounds rounds_of(const TrainingSettings& s, std::uint64_t steps) {
        const double every = std::max(1.0, s.densify_every);
        const auto before = [&](double step) {
            return static_cast<std::size_t>(
                std::max(0.0, std::ceil(step / every) - 1 - std::floor(s.densify_from / every)));
        };
        const std::size_t all = before(s.densify_until);
        return {std::min(all, before(static_cast<double>(steps) + 1)), all};
    }
    /// With the last round; where it comes within 200 steps of an opacity reset, when everything is
    /// faint, at the first time for a round after that. With the last step, if it comes before.
    static bool reduction_due(const TrainingSettings& s, std::uint64_t steps) {
        constexpr double kRecovery = 200;  // steps
        const double done = static_cast<double>(steps), every = std::max(1.0, s.densify_every);
        const Rounds rounds = rounds_of(s, steps);
        if (s.overgrow <= 1 || rounds.all == 0 || done > s.densify_until + kRecovery + every)
            return false;
        if (done >= s.steps) return true;
        if (rounds.done < rounds.all || steps % static_cast<std::uint64_t>(every) != 0)
            return false;
        if (s.opacity_reset_every <= 0) return true;
        // Resets come before densify_until, that of this step after the reduction.
        const double reset =
            std::floor(std::min(done - 1, std::ceil(s.densify_until) - 1) / s.opacity_reset_every) *
            s.opacity_reset_every;
        return reset <= 0 || done - reset >= kRecovery;
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

std::size_t peak_gaussians(const TrainingSettings& s) {
    const double times = s.strategy == StrategyKind::budget ? std::max(1.0, s.overgrow) : 1;
    return static_cast<std::size_t>(times * std::max(1.0, s.max_gaussians));
}

std::size_t growth_curve(std::size_t first, std::size_t budget, std::size_t round,
                         std::size_t rounds) {
    if (budget <= first || round >= rounds) return budget;
    const double x = static_cast<double>(round) / static_cast<double>(rounds);
    const double grown = static_cast<double>(budget - first) * x * (2 - x);
    return first + static_cast<std::size_t>(std::floor(grown));
}

}  // namespace gs
