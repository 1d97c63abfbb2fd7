// What a strategy decides after a step, carried out by the backend.
#include <utility>

#include "base/log.h"
#include "base/record/scope.h"
#include "trainer/strategy.h"
#include "trainer/trainer_state.h"

namespace gs {

/// True: it changed the model.
bool Trainer::State::control_density(StepReport& report) {
    const Strategy& strategy = strategy_of(settings);
    const RunFacts facts{steps(), at_start};
    const RoundPlan plan = strategy.after_step(settings, facts);
    if (!plan.any()) return false;
    const Span span(Stage::density, steps());
    if (plan.kind != RoundPlan::Kind::none) {
        DensityReport round =
            plan.kind == RoundPlan::Kind::relocate
                ? backend->relocate(plan.settings, extent)
                : backend->densify_and_prune(plan.settings, extent, plan.prune_large);
        round.target = strategy.target(settings, facts);
        log_debug(
            "step {}: {} cloned, {} split, {} pruned, {} of {} dead relocated, {} added, {} "
            "Gaussians of {}",
            steps(), round.cloned, round.split, round.pruned, round.relocated, round.dead,
            round.added, backend->count(), round.target);
        if (round.out_of_memory && !told_memory) {
            told_memory = true;
            log_warning(
                "step {}: no memory for more than {} Gaussians; training goes on with these{}{}",
                steps(), backend->count(), round.why.empty() ? "" : ": ", round.why);
        }
        report.densified = true;
        report.round = std::move(round);
    }
    if (plan.reset_opacity) backend->reset_opacity();
    return true;
}

}  // namespace gs
