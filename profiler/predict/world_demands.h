// What a frame and a step ask of a GPU beside their Gaussians: a sky, and a lidar's beams.
// frame_demands.cpp calls them; docs/model.md says what is left out.
#pragma once

#include "profiler/predict/demand.h"

namespace gs {

/// Whether a step adds up gradients before its Gaussians move: of several views, or of beams.
inline bool adds_views(const PredictedWork& work) { return work.batch > 1 || work.beams.rays > 0; }

/// Bytes that the lists of a step's beams keep for a pair of a tile and a Gaussian.
inline constexpr double kPairBytes = 132;
/// Kernels, fills and copies of a step's beams, but for CUB's scan and sort.
inline constexpr int kBeamLaunches = 15;

/// Of a frame: to the demand of blending.
void add_sky_drawn(StageDemand& d, const PredictedWork& work, const KernelCosts& costs,
                   const GpuDevice& gpu);
/// Of a step: to that of the loss.
void add_sky_learned(StageDemand& d, const PredictedWork& work, const KernelCosts& costs,
                     const GpuDevice& gpu);
/// Stage::rays of a step, never all counted: CUB's sort and scan are not in the table.
StageDemand beam_demand(const PredictedWork& work, const KernelCosts& costs, const GpuDevice& gpu);

}  // namespace gs
