#include "profiler/predict/world_demands.h"

#include "profiler/predict/counted_kernel.h"

namespace gs {
namespace {

constexpr double kSkyBlocks = 128, kSkyThreads = 128;  ///< of trainer/cuda/sky.cu, at most
constexpr double kDrawnBytes = 28, kPulledBytes = 16;  ///< a pixel
constexpr double kSkyLaunches = 2;
/// Of trainer/cuda/beams.cu: threads of a tile's block, pieces of a list on the way there and back,
/// sums of a pair and bytes of its Gaussian, lanes' sums that are exchanged.
constexpr double kRays = 128, kForward = 128, kBackward = 32, kSums = 13, kFormBytes = 60,
                 kLaneSums = 16;
constexpr double kGeometryRead = 6, kGeometry = 11;  ///< planes: before, and if rays may meet it
constexpr double kCubLaunches = 4;                   ///< of a scan, and of a sort beside its passes

/// Of a block of `threads`, in blocks of 256.
double blocks_of(double blocks, double threads) { return blocks * threads / kBlockThreads; }

/// A kernel with a block of 128 threads a tile, which walks the tile's list in pieces of `piece`;
/// `inner`: trips of the loops inside the walk, of those in the loop around it beside the walk
/// `beside`. A warp takes the shortest way through where none of its rays meets, which is not so in
/// a share of `met`.
void walk_lists(StageDemand& d, const CountedKernel& k, const BeamWork& b, double piece,
                const LoopCost* walk, double inner, double beside, double met) {
    const double warps = kRays / kWarpThreads, pieces = b.walked / piece + b.tiles,
                 waves = std::ceil(blocks_of(b.tiles, kRays) / k.places()),
                 longest = std::ceil(b.longest / piece);
    k.run_code(d, k.outside(), blocks_of(b.tiles, kRays), 1);
    for (const LoopCost& loop : k.loops()) {
        const bool around = k.lies_in(walk, loop), walks = &loop == walk,
                   within = walk != nullptr && k.lies_in(&loop, *walk);
        const double least = loop.code.least / std::max(1.0, loop.code.issue),
                     each = walks    ? least + met * (1 - least)
                            : within ? inner * met
                            : around ? 1 / piece
                                     : beside / piece,
                     once = around ? pieces : each * b.walked;
        d.executed += loop.code * (warps * once);
        // Tiles are few: what the longest takes by itself.
        d.wait_rounds += loop.code.rounds * waves * (around ? longest : each * b.longest);
        d.wait_clocks += loop.code.stall * (around ? longest : each * b.longest);
    }
    d.counted = d.counted && walk != nullptr;
}

}  // namespace

void add_sky_drawn(StageDemand& d, const PredictedWork& work, const KernelCosts& costs,
                   const GpuDevice& gpu) {
    const CountedKernel draw(costs, gpu, {work.lens ? "draw_sky_lens" : "draw_sky"});
    draw.run(d, std::ceil(work.frame.pixels / kBlockThreads), work.batch);
    d.bytes += work.frame.pixels * kDrawnBytes * work.batch;
    d.launches += work.batch;
}

void add_sky_learned(StageDemand& d, const PredictedWork& work, const KernelCosts& costs,
                     const GpuDevice& gpu) {
    const double pixels = work.frame.pixels, n = work.batch,
                 sums = std::min(std::ceil(pixels / kSkyThreads), kSkyBlocks),
                 blocks = blocks_of(sums, kSkyThreads),
                 turns = std::max(1.0, pixels / (blocks * kBlockThreads));
    const CountedKernel pull(costs, gpu, {work.lens ? "pull_sky_lens" : "pull_sky"}),
        step(costs, gpu, {"step_sky"});
    pull.run_code(d, pull.outside(), blocks, n);
    for (const LoopCost& loop : pull.loops()) {  // of a pixel; a warp or two a scheduler
        d.executed += loop.code * (turns * blocks * kBlockWarps * n);
        d.wait_rounds += loop.code.rounds * turns * n;
        d.wait_clocks += loop.code.stall * turns * n;
    }
    // One block, which adds up what each has left.
    step.run(d, blocks_of(1, kSkyThreads), n);
    const CodeCost add = code_of(step.loop_with(&CodeCost::global_load, true));
    if (add.global_load > 0) d.wait_rounds += add.rounds * (sums / add.global_load - 1) * n;
    d.bytes += pixels * kPulledBytes * n;
    d.launches += kSkyLaunches * n;
}

StageDemand beam_demand(const PredictedWork& work, const KernelCosts& costs, const GpuDevice& gpu) {
    const BeamWork& b = work.beams;
    const auto kernel = [&](const char* name) { return CountedKernel(costs, gpu, {name}); };
    // Gaussians that beams meet are at most one a warp.
    const double rows = std::ceil(work.frame.gaussians / kBlockThreads),
                 met = std::ceil(std::min(work.frame.gaussians, kWarpThreads * b.listed) /
                                 kBlockThreads),
                 passes = std::ceil((kWarpThreads + std::log2(b.tiles + 1)) / 8);
    StageDemand d{.stage = Stage::rays};
    kernel("count_beam_pairs<false>").run(d, rows, 1);
    kernel("emit_beam_pairs<false>").run(d, met, 1);
    kernel("radix_pass<unsigned int>").run_passes(d, b.pairs, passes);
    kernel("find_beam_lists").run(d, std::ceil(b.pairs / kBlockThreads), 1);
    const CountedKernel there = kernel("trace_beams"), back = kernel("trace_beams_backward"),
                        add = kernel("add_beams<false>");
    walk_lists(d, there, b, kForward, there.loop_with(&CodeCost::fp32, true), 1, 1, 1);
    const LoopCost* const walk = back.loop_with(&CodeCost::fp32, false);
    double exchanged = 0;  // in one trip of the loop that halves them; the walk has the rest
    for (const LoopCost& loop : back.loops())
        if (walk != nullptr && back.lies_in(&loop, *walk)) exchanged += loop.code.shuffle;
    const double trips = exchanged > 0 ? (kLaneSums - code_of(walk).shuffle) / exchanged : 1;
    walk_lists(d, back, b, kBackward, walk, std::max(1.0, trips), kBackward * kLaneSums / kRays,
               b.met / std::max(1.0, kRays / kWarpThreads * b.walked));
    add.run(d, met, 1);
    const CodeCost pair = code_of(add.loop_with(&CodeCost::global_load, true));
    d.executed += pair * (met * kBlockWarps * std::max(0.0, b.pairs / std::max(1.0, b.listed) - 1));
    constexpr double kReal = 4, kPlane = 3 * kReal;  // of a plane also its moments
    const double key = 8 + 4, sums = kSums * kReal;
    d.bytes = work.frame.gaussians * (kGeometryRead * kPlane + 3 * kReal) +
              b.listed * kGeometry * (3 * kPlane + 2 * kReal) +
              b.pairs * (key + 2 * passes * key + 8 + 3 * sums) +
              b.walked * (2 * kFormBytes + sums);
    d.working_set = b.pairs * kPairBytes;
    d.launches = kBeamLaunches + kCubLaunches + passes;
    d.counted = false;
    return d;
}

}  // namespace gs
