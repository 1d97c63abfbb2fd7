// Strategy: what decides between two steps which Gaussians are added, moved and removed. The
// trainer asks, a backend carries out (trainer/density/density.h, trainer/density/relocation.h). A
// strategy keeps nothing: what it decides follows from the settings, the step, the rows and the ids
// that the run was given, all of which checkpoints hold, so a resumed run takes the same way. One
// object each; which one is TrainingSettings::strategy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trainer/settings/settings.h"

namespace gs {

/// Where a run stands after a step.
struct RunFacts {
    std::uint64_t steps = 0;    ///< done
    std::size_t at_start = 0;   ///< Gaussians that the run began with
    std::size_t gaussians = 0;  ///< there are now
};

/// What is to be done to the rows now, in this order.
struct RoundPlan {
    enum class Kind : std::uint8_t { none, densify, relocate };
    Kind kind = Kind::none;
    bool prune_large = false;  ///< densify: also by size
    std::size_t keep = 0;      ///< the most visible ones that stay; 0: all do
    bool reset_opacity = false;
    TrainingSettings settings;  ///< what the round goes by
    bool any() const { return kind != Kind::none || keep > 0 || reset_opacity; }
};

class Strategy {
  public:
    virtual ~Strategy() = default;
    /// Does a step after which `steps_done` are done add to the density statistics? They cost their
    /// share of backward's end, so only those who look at them ask.
    virtual bool gathers_statistics(const TrainingSettings& settings,
                                    std::uint64_t steps_done) const = 0;
    virtual RoundPlan after_step(const TrainingSettings& settings, const RunFacts& facts) const = 0;
    /// Gaussians there should be, or may be, after the last round up to now.
    virtual std::size_t target(const TrainingSettings& settings, const RunFacts& facts) const = 0;
    /// One line for people: "MCMC, up to 100000".
    virtual std::string describe(const TrainingSettings& settings) const = 0;
};

const Strategy& strategy_of(const TrainingSettings& settings);
/// Gaussians that growth may reach.
std::size_t peak_gaussians(const TrainingSettings& settings);

/// Gaussians that there are to be after round `round` (0: at the start) of `rounds`, between
/// `first` and `budget`: a x^2 + 2 (budget - first) / rounds x + first, which ends level (Mallick
/// et al. 2024, "Taming 3DGS", section 4.1). To a start above the budget nothing is added.
std::size_t growth_curve(std::size_t first, std::size_t budget, std::size_t round,
                         std::size_t rounds);

}  // namespace gs
