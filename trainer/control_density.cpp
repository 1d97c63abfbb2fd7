// What a strategy decides after a step, carried out by the backend.
#include <new>
#include <utility>

#include "base/log.h"
#include "base/record/scope.h"
#include "renderer/device/device_error.h"
#include "renderer/raster/blend_weights.h"
#include "renderer/scene/near_plane.h"
#include "trainer/adam/mip_filter.h"
#include "trainer/density/run_edit.h"
#include "trainer/settings/strategy.h"
#include "trainer/trainer_state.h"

namespace gs {

/// True: it changed the model.
bool Trainer::State::control_density(StepReport& report) {
    const Strategy& strategy = strategy_of(settings);
    const RunFacts facts{steps(), at_start, backend->count()};
    RoundPlan plan = strategy.after_step(settings, facts);
    plan.settings.prune_screen_px /= divisor;  // radii are of the smaller photos
    if (!plan.any() && !filter_due(false)) return false;
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
        if (round.out_of_memory && !warned_memory) {
            warned_memory = true;
            log_warning(
                "step {}: no memory for more than {} Gaussians; training continues with these{}{}",
                steps(), backend->count(), round.why.empty() ? "" : ": ", round.why);
        }
        report.densified = true;
        report.round = std::move(round);
    }
    if (plan.keep > 0 && backend->count() > plan.keep) {
        report.round.reduced = reduce_to(plan.keep);
        report.round.pruned += report.round.reduced;
        report.densified |= report.round.reduced > 0;
    }
    if (plan.reset_opacity) backend->reset_opacity();
    if (filter_due(report.densified)) size_filter(FilterRows::all);
    return true;
}

std::size_t Trainer::State::reduce_to(std::size_t keep) {
    const std::size_t before = backend->count();
    const auto without_memory = [&] {
        log_warning(
            "step {}: no memory to find the {} of {} Gaussians that photos see most; all stay",
            steps(), keep, before);
        return std::size_t{0};
    };
    const std::vector<Camera> cameras = cameras_to_weigh(training_cameras());
    log_info("step {}: growth is over; finding the {} of {} Gaussians that {} photos see most",
             steps(), keep, before, cameras.size());
    try {
        const auto weights = blend_weights(backend->rasterizer(), model(), cameras, options());
        backend->remove_rows(rows_to_reduce(backend->identity(), *weights, keep));
    } catch (const std::bad_alloc&) {
        return without_memory();
    } catch (const DeviceError& error) {
        if (!error.out_of_memory()) throw;
        return without_memory();
    }
    return before - backend->count();
}

std::vector<Camera> Trainer::State::training_cameras() const {
    std::vector<Camera> out;
    for (const std::size_t view : drawn) out.push_back(refined.camera(*capture, view));
    return out;
}

float Trainer::State::filter_near() const {
    const float near_plane = near_plane_for(extent);
    return near_plane > 0 ? near_plane : rules_of(Compatibility::tight).near_plane;
}

/// As published: every 100 steps while Gaussians come and go, and frozen from then on. Rows that a
/// round has moved get new ones at once.
bool Trainer::State::filter_due(bool round) const {
    const auto every = static_cast<std::uint64_t>(settings.densify_every);
    return settings.filter_3d && (round || (steps() % every == 0 && static_cast<double>(steps()) <=
                                                                        settings.densify_until));
}

}  // namespace gs
