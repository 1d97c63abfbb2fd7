// Rounds of density control and opacity resets on the device, with the decisions of
// trainer/density/density.cpp: a packed count comes back to the host, everything else stays. Not
// part of a steady step: they wait. They allocate only when the run's own arrays must grow: what
// they work in is the memory of frames, which lies idle meanwhile. Called by CudaTraining.
#pragma once

#include "trainer/cuda/step_engine.h"

namespace gs::cuda {

/// After engine.drain(). As gs::densify_and_prune.
DensityReport density_round_on_device(StepEngine& engine, const Stream& stream,
                                      const TrainingSettings& settings, double extent,
                                      bool prune_large);
/// As gs::reset_opacity.
/// relocate() of trainer/density/relocation.h.
DensityReport relocation_on_device(StepEngine& engine, const Stream& stream,
                                   const TrainingSettings& settings, double extent);
void reset_opacity_on_device(StepEngine& engine, const Stream& stream);

}  // namespace gs::cuda
