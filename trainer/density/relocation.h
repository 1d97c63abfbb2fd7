// Relocation: the round of density control of 3DGS-MCMC (Kheradmand et al. 2024). Gaussians that
// are too faint move to the places of others, drawn in proportion to their opacity (or to that and
// how hard gradients pull there); five in a hundred are added in the same way, up to the limit.
// What is drawn is decided here, on the host, for every backend: 20 bytes a Gaussian decide a
// round, 28 with pulls. Called by the backends of the trainer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/density/density.h"
#include "trainer/density/relocation_rules.h"
#include "trainer/density/round_rows.h"

namespace gs {

struct RelocationInput {
    std::span<const Fate> fates;  ///< by row; Fate::remove: dead
    std::span<const float> opacity_logits;
    std::span<const float> mean[3];  ///< world units
    std::span<const std::uint32_t> tags;
    std::span<const float> pulls;  ///< relocation_pulls(), or empty
    std::uint32_t next_id = 0;
    std::uint64_t seed = 0, step = 0;
    std::size_t limit = 0;  ///< rows after the round at most, where more are wanted
};
struct RelocationPlan {
    RoundRows rows;  ///< with shares, kNewcomer in those who came; not sorted
    DensityReport report;
};
/// Who goes where. Draws depend on seed, step and ids alone; weights are whole millionths of
/// opacity, so that sums are exact. Locked Gaussians neither move nor are moved to. Nothing
/// moves if no Gaussian is alive.
RelocationPlan plan_relocation(const RelocationInput& input);
/// By row how hard gradients pull its mean, over the pull that makes adaptive density control add
/// one there; empty unless the settings ask for it. Spans: DensityStatistics'.
std::vector<float> relocation_pulls(const TrainingSettings& settings,
                                    std::span<const float> gradient_sum,
                                    std::span<const float> views);
SharingRules sharing_rules(const TrainingSettings& settings, std::uint64_t step);
/// Rows there are to be: a twentieth more, `limit` at most, never fewer.
std::size_t rows_after_relocation(std::size_t rows, std::size_t limit);
/// density_rules() by which Fate::remove means dead, and no row grows.
DensityRules relocation_rules(const TrainingSettings& settings, double extent);

/// One round in host memory; rows end up in Morton order. Rows that share a place get
/// moments of zero; moved and added rows get new ids. See densify_and_prune() for the rest.
DensityReport relocate(RunArrays& arrays, const TrainingSettings& settings, double extent,
                       Buffer<float>* save_reserve = nullptr, Exchange& ranks = one_process());

}  // namespace gs
