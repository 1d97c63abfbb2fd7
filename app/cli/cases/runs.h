// Runs in the middle of their training, for the directed cases: photos, arrays, plans of steps.
// Seeded.
#pragma once

#include <memory>

#include "renderer/scene/capture.h"
#include "trainer/density/snapshot.h"
#include "trainer/training_backend.h"

namespace gs::cli {

/// Four views of a smooth pattern; with `masked`, the third has a mask with holes.
std::shared_ptr<Capture> case_capture(int width, int height, bool masked = false);
/// A run at its first step.
RunArrays fresh_run(const GaussianModel& model, bool compact = false);
/// A run of `count` Gaussians of degree 2 after nine steps, with spare capacity: sleepers, moments,
/// statistics that call for clones, splits and prunes; some rows faint, one broken, every 23rd
/// locked if `locks`. `compact`: moments in 16 bits.
RunArrays busy_run(std::size_t count, std::uint64_t seed, bool locks = false, bool compact = false);
/// Step `step` (0-based) of view `view`, rates of a usual run times `rates`.
StepPlan case_plan(const Capture& capture, std::size_t view, std::uint64_t step, int sh_degree,
                   double rates = 1);

}  // namespace gs::cli
