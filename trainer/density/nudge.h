// The nudge of nudge_rules.h on the host: what a step's comes to by the settings, and carried out
// for all rows. The trainer plans it, the CPU's backend carries it out; the device's is
// cuda/nudge.cu.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/density/nudge_rules.h"

namespace gs {

class LazyAdam;
struct GaussianModel;
struct RowIdentity;
struct TrainingSettings;

/// `step`: steps done before it. `extent`: of the scene, world units.
NudgePlan nudge_plan(const TrainingSettings& settings, double extent, std::uint64_t step,
                     std::size_t gaussians);
/// All rows that are not locked, after the step that `plan` is of.
void nudge(GaussianModel& model, LazyAdam& adam, const RowIdentity& identity,
           const NudgePlan& plan);

}  // namespace gs
