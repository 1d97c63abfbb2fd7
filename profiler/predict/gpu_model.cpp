#include "profiler/predict/gpu_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/list_growth.h"
#include "base/rng.h"
#include "profiler/predict/world_demands.h"

namespace gs {
namespace {

constexpr int kDraws = 400;
/// Of a GPU's memory: the driver, CUDA's context and our code.
constexpr double kOthersBytes = 0.6e9;
constexpr std::uint64_t kDrawSeed = 0x6750752D6D6F6465ull;

/// Normal, mean 0 and deviation 1 (Box and Muller).
double normal(std::uint64_t stream, std::uint64_t counter) {
    const double u = 1.0 - static_cast<double>(random_uniform(kDrawSeed, stream, 2 * counter)),
                 v = static_cast<double>(random_uniform(kDrawSeed, stream, 2 * counter + 1));
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// The `draw`-th run of the model for one stage. Half of what is wrong is the GPU's and the same
/// for all stages, half is the stage's own.
ModelDraw drawn(int draw, std::size_t stage, const ModelFit& fit) {
    const auto counter = static_cast<std::uint64_t>(draw);
    const double half = std::sqrt(0.5);
    const auto factor = [&](std::uint64_t kind, double sd) {
        const double z = half * normal(kind, counter) +
                         half * normal(16 + 3 * static_cast<std::uint64_t>(stage) + kind, counter);
        return std::exp(sd * z);
    };
    return {factor(0, fit.memory_log_sd), factor(2, fit.instruction_log_sd),
            factor(1, fit.latency_log_sd)};
}

/// What a stage asks of the GPU, and the time that each resource needs for it.
struct StageTimes {
    StageDemand demand;
    ResourceSeconds resources{};
};
std::vector<StageTimes> times_of(const PredictedWork& work, const KernelCosts& costs,
                                 const GpuDevice& gpu, const ModelFit& fit) {
    std::vector<StageTimes> out;
    for (const StageDemand& demand : frame_demands(work, costs, gpu))
        out.push_back({demand, resource_seconds(demand, gpu, fit)});
    if (!work.frame.training || !(work.beams.rays > 0) || !(work.beams.every > 1)) return out;
    // One step with beams, and every - 1 without.
    PredictedWork rest = work;
    rest.beams = {};
    const std::vector<StageTimes> without = times_of(rest, costs, gpu, fit);
    for (StageTimes& stage : out) {
        const auto same = std::ranges::find(without, stage.demand.stage,
                                            [](const StageTimes& s) { return s.demand.stage; });
        for (std::size_t r = 0; r < kGpuResources; ++r) {
            const double other = same == without.end() ? 0 : same->resources[r];
            stage.resources[r] = other + (stage.resources[r] - other) / work.beams.every;
        }
    }
    return out;
}

/// By sorting; `point` is what the model says without draws, and stays inside.
PredictedMs interval_of(std::vector<double> seconds, double point) {
    std::sort(seconds.begin(), seconds.end());
    const auto at = [&](double q) {
        return seconds[static_cast<std::size_t>(q * static_cast<double>(seconds.size() - 1))] * 1e3;
    };
    const double middle = point * 1e3;
    return {std::min(at(0.1), middle), middle, std::max(at(0.9), middle)};
}

PredictedStage stage_of(const StageDemand& demand, const ResourceSeconds& resources) {
    PredictedStage out{.stage = demand.stage};
    const double all = seconds_of(resources);
    const auto most = std::max_element(resources.begin(), resources.end());
    out.bound_by = static_cast<GpuResource>(most - resources.begin());
    if (all > 0)
        for (std::size_t r = 0; r < kGpuResources; ++r) out.share[r] = resources[r] / all;
    return out;
}

}  // namespace

Prediction predict(const PredictedWork& work, const KernelCosts& costs, const GpuDevice& gpu,
                   const ModelFit& fit) {
    Prediction out{
        .gpu = gpu.id, .training = work.frame.training, .memory_bytes = predicted_memory(work)};
    out.fits = out.memory_bytes + kOthersBytes <= gpu.memory_gb * 1e9;
    const std::vector<StageTimes> stages = times_of(work, costs, gpu, fit);
    std::vector<double> totals(kDraws, 0.0);
    double point = 0;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const auto& [demand, resources] = stages[i];
        ModelFit of_stage = fit;
        const bool counted = demand.counted && !work.estimated;
        if (!counted)
            for (double* sd : {&of_stage.memory_log_sd, &of_stage.instruction_log_sd})
                *sd = std::hypot(*sd, fit.guess_log_sd);
        std::vector<double> runs(kDraws);
        for (int draw = 0; draw < kDraws; ++draw) {
            const auto at = static_cast<std::size_t>(draw);
            runs[at] = seconds_of(resources, drawn(draw, i, of_stage));
            totals[at] += runs[at];
        }
        const double seconds = seconds_of(resources);
        point += seconds;
        out.stages.push_back(stage_of(demand, resources));
        out.stages.back().counted = counted;
        out.stages.back().ms = interval_of(std::move(runs), seconds);
    }
    out.total = interval_of(std::move(totals), point);
    return out;
}

Prediction predict_frame(PredictedWork work, const KernelCosts& costs, const GpuDevice& gpu,
                         const ModelFit& fit) {
    work.frame.training = work.frame.gradients = false;
    return predict(work, costs, gpu, fit);
}

Prediction predict_step(PredictedWork work, const KernelCosts& costs, const GpuDevice& gpu,
                        const ModelFit& fit) {
    work.frame.training = work.frame.gradients = true;
    return predict(work, costs, gpu, fit);
}

double predicted_memory(const PredictedWork& work) {
    const FrameWork& f = work.frame;
    const double planes = 11 + 3 * (f.sh_degree + 1.0) * (f.sh_degree + 1.0),
                 // Parameters; moments, last step, id, statistics and bounds where it trains.
        model = f.training ? planes * 12 + 22 + (adds_views(work) ? planes * 4 + 4 : 0) +
                                 (work.poses ? 24 : 0) + (work.intrinsics ? 1 : 0)
                           : planes * 4,
                 beams = f.training ? work.beams.pairs * 1.25 * kPairBytes : 0,
                 slots = 64 + 20,  // a splat and what is counted of it; keys and ranks, twice
        // The first frame gets space for four a Gaussian.
        room = std::max(4 * f.gaussians, 1.1 * f.isects),
                 // Keys and payloads twice; with gradients a row of 48, slots, what was live.
        isects = (f.tiles > 65535 ? 16 : 12) + (f.gradients ? 58 : 0),
                 pixels = f.gradients ? 44 : 24;
    return f.gaussians * (model + slots) + room * isects + f.pixels * pixels + beams;
}

std::vector<float> predicted_tile_us(const Prediction& prediction,
                                     std::span<const TileLoad> tiles) {
    std::vector<float> out;
    double us = 0, all = 0;
    for (const PredictedStage& s : prediction.stages)
        if (s.stage == Stage::blend || s.stage == Stage::blend_backward) us += s.ms.p50 * 1e3;
    for (const TileLoad& tile : tiles) all += static_cast<double>(tile.pairs);
    out.reserve(tiles.size());
    for (const TileLoad& tile : tiles)
        out.push_back(all > 0 ? static_cast<float>(us * static_cast<double>(tile.pairs) / all)
                              : 0.0f);
    return out;
}

PredictedWork what_if(PredictedWork work, const WhatIf& change) {
    FrameWork& f = work.frame;
    // How lists and pairs grow: docs/model.md, "What if".
    const auto grow = [&](double isects, double warps) {
        f.isects *= isects;
        f.live_isects *= isects;
        f.batches *= isects;
        f.group_tests *= isects;
        for (double FrameWork::*count :
             {&FrameWork::evaluated, &FrameWork::blended, &FrameWork::near, &FrameWork::open,
              &FrameWork::live_sub_tiles})
            f.*count *= warps;
        for (TileLoad& tile : work.tiles) {
            tile.isects = static_cast<std::uint32_t>(std::llround(tile.isects * isects));
            tile.pairs *= static_cast<float>(warps);
        }
        // Powers know nothing of what holds of every frame.
        f.isects = std::max(f.isects, f.visible);
        f.open = std::min(f.open, f.near);
        f.live_sub_tiles = std::min(f.live_sub_tiles, f.open);
        f.live_isects = std::min({f.live_isects, f.isects, f.live_sub_tiles});
        work.estimated = true;
    };
    if (change.gaussians > 0 && f.gaussians > 0) {
        const double ratio = change.gaussians / f.gaussians;
        f.gaussians *= ratio;
        f.candidates *= ratio;
        f.visible *= ratio;
        BeamWork& b = work.beams;
        for (double* count : {&b.listed, &b.pairs, &b.walked, &b.longest})
            *count *= count == &b.listed ? ratio : list_growth(ratio);
        grow(list_growth(ratio), std::pow(ratio, 0.4));
    }
    if (change.width > 0 && change.height > 0 && f.pixels > 0) {
        const double pixels = static_cast<double>(change.width) * change.height,
                     ratio = pixels / f.pixels;
        f.pixels = pixels;
        f.tiles = std::ceil(change.width / 16.0) * std::ceil(change.height / 16.0);
        work.tiles.clear();  // these are other tiles
        grow(std::pow(ratio, 0.55), std::pow(ratio, 0.8));
    }
    if (change.sh_degree >= 0) f.sh_degree = std::min(change.sh_degree, 3);
    if (change.batch > 0) work.batch = change.batch;
    return work;
}

}  // namespace gs
