// What a stage asks of a GPU, and the time that takes: warp instructions by unit, bytes, waits for
// loads, launches. The arithmetic of the performance model (docs/model.md), apart from whose
// kernels they are: ours (frame_demands.cpp) and published ones (validation.cpp) go through it
// alike.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/record/stage.h"
#include "profiler/predict/gpu_model.h"

namespace gs {

struct StageDemand {
    Stage stage = Stage::other;
    CodeCost executed;       ///< warp instructions, how often each kind runs; `stall` and `rounds`
                             ///< are not used here
    double bytes = 0;        ///< read and written, beyond the multiprocessors' own caches
    double working_set = 0;  ///< bytes; what of it the L2 cache holds need not come from memory
    /// Waits for loads that a warp makes one after the other, times the rounds of blocks
    /// ("waves") that follow each other on a multiprocessor with the usual number of warps.
    double wait_rounds = 0;
    double wait_clocks =
        0;  ///< fixed waits of the code, of the same warps: what a block takes alone
    /// Data that the kernel itself read a moment ago and reads again: bytes, waits as above, and
    /// the bytes that all blocks under way hold between the two.
    double again_bytes = 0, again_rounds = 0, again_set = 0;
    double launches = 0;
    double imbalance = 1;  ///< when the last block ends, over when all would with even work
    bool counted = true;
};

/// Seconds that each resource alone would need.
using ResourceSeconds = std::array<double, kGpuResources>;
/// How one run of the model differs from its middle: factors, 1 each for the point estimate.
struct ModelDraw {
    double memory = 1, instructions = 1, latency = 1;
};

/// By resource; `tail` holds what uneven blocks add.
ResourceSeconds resource_seconds(const StageDemand& demand, const GpuDevice& gpu,
                                 const ModelFit& fit);
/// Together: throughputs overlap (a p-norm, p = 4: the slowest counts most), waits overlap with
/// them in part (p = 2), the tail and launches come on top.
double seconds_of(const ResourceSeconds& resources, const ModelDraw& draw = {});

/// Kernels, fills and copies that `stage` enqueues in a frame for the viewer, or in a step of
/// training; but for the passes of the sort by tile, of which there are tile_passes().
/// tests/kernels/cuda_launches_test.cpp holds them to what the pipeline enqueues.
struct StageLaunches {
    Stage stage;
    int launches = 0;
};
/// A pass sorts by 8 bits of the numbers of the tiles, and one more.
int tile_passes(double tiles);
std::span<const StageLaunches> stage_launches(bool training);

/// Blocks of a kernel that a multiprocessor holds at once, by CUDA's rules: 1 at least.
int resident_blocks(const GpuArchitecture& architecture, int threads, int registers,
                    int shared_bytes);

/// What our kernels ask for, stage by stage in the order they run, on `gpu`.
std::vector<StageDemand> frame_demands(const PredictedWork& work, const KernelCosts& costs,
                                       const GpuDevice& gpu);

}  // namespace gs
