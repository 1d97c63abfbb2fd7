// The performance model: how long our kernels would take on a GPU that is not here. Work is counted
// (FrameWork, with what warps do), costs are counted in the compiled code (KernelCosts), a GPU is
// its figures (GpuDevice); what comes out is *predicted*, never measured: an interval, and what
// binds. Method, validation and its misses: docs/model.md. Called by `gausscope predict`, `bench
// --predict` and the studio's Limits.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/record/stage.h"
#include "profiler/analysis/cost_model.h"
#include "profiler/predict/gpu_device.h"
#include "profiler/predict/kernel_costs.h"

namespace gs {

/// Milliseconds: it takes less than p10 one time in ten, less than p90 nine times in ten.
struct PredictedMs {
    static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    double p10 = kUnknown, p50 = kUnknown, p90 = kUnknown;
};

/// What a stage may wait for.
enum class GpuResource : std::uint8_t {
    issue,  ///< slots for warp instructions
    fp32,
    integer,
    special,        ///< exponentials, reciprocals, roots
    shared_memory,  ///< its bandwidth
    l2,
    memory,   ///< its bandwidth
    latency,  ///< of memory, with too few warps to hide it
    tail,     ///< the last blocks, while other multiprocessors have run out
    launch,
};
inline constexpr std::size_t kGpuResources = 10;
/// "instruction issue", "fp32", ..., for people.
const char* name_of(GpuResource resource);

struct PredictedStage {
    Stage stage = Stage::other;
    PredictedMs ms;
    GpuResource bound_by = GpuResource::launch;
    /// What each resource alone would need, over p50: the largest is what binds.
    std::array<double, kGpuResources> share{};
    bool counted = true;  ///< false: a count it needs was not there; only the rest is in the time
};

struct Prediction {
    std::string gpu;                     ///< GpuDevice::id
    bool training = false;               ///< a step, else a frame
    std::vector<PredictedStage> stages;  ///< in the order they run
    PredictedMs total;                   ///< of the whole frame or step; P50s do not quite add up
    double memory_bytes = 0;             ///< that this takes of the GPU, about
    bool fits = true;                    ///< in what the GPU has
};

/// Blending's work by tile, for the tail and for maps: [tiles].
struct TileLoad {
    std::uint32_t isects = 0;
    float pairs = 0;  ///< evaluated
};

/// What a step's lidar beams meet (trainer/cuda/beams.h). All 0: it has none.
struct BeamWork {
    double rays = 0, tiles = 0;
    double listed = 0,
           pairs = 0;  ///< Gaussians in some tile's list; pairs of a tile and a Gaussian
    /// Places of the lists up to the last that a ray of the tile blends: of all, of the longest.
    double walked = 0, longest = 0;
    double met = 0;    ///< of these places and the tile's warps of 32 rays, where a ray is dimmed
    double every = 1;  ///< one step of that many has beams; a predicted step is the mean
};

/// What is to be predicted.
struct PredictedWork {
    FrameWork frame;
    std::vector<TileLoad> tiles;  ///< empty: a frame with even tiles
    int batch = 1;                ///< views a step (or a frame) draws
    bool estimated = false;       ///< by what_if(), of a frame that was not drawn: an estimate
    bool packed = true;           ///< a frame without gradients ends as bytes for the screen
    bool lens = false;        ///< drawn through more than a pinhole: a lens, or rows at their times
    bool unscented = false;   ///< each Gaussian by seven points, whatever the camera
    bool poses = false;       ///< a step corrects the photos' poses, too,
    bool intrinsics = false;  ///< and their lenses,
    bool look = false;        ///< or learns their exposure and colour
    bool sky = false;         ///< a sky is drawn, and learned by a step
    BeamWork beams;           ///< of a step
};

/// How the model's free numbers are set: fitted to public measurements (validation.h).
struct ModelFit {
    double issue_use = 0.78;     ///< share of its issue slots that a busy kernel fills
    double bandwidth_use = 1.0;  ///< of GpuDevice::sustained_gb_s, in kernels that do not only
                                 ///< stream
    /// Spreads of log(predicted / measured), by what a kernel waits for.
    double memory_log_sd = .2;       ///< bandwidth of memory and of the L2 cache
    double instruction_log_sd = .2;  ///< slots, lanes, shared memory, uneven blocks
    double latency_log_sd = .3;      ///< latencies and launches
    double guess_log_sd = .3;        ///< on top, where a stage's counts are guessed
};

/// The whole step (work.frame.training), or a frame: with gradients one that stores them, without
/// one for the screen. The same numbers give the same answer.
Prediction predict(const PredictedWork& work, const KernelCosts& costs, const GpuDevice& gpu,
                   const ModelFit& fit);
/// A frame for the screen, and a training step, of the same counts.
Prediction predict_frame(PredictedWork work, const KernelCosts& costs, const GpuDevice& gpu,
                         const ModelFit& fit);
Prediction predict_step(PredictedWork work, const KernelCosts& costs, const GpuDevice& gpu,
                        const ModelFit& fit);

/// Bytes of GPU memory that a frame, or training with all it keeps, takes: what the arrays of
/// raster/cuda/frame_arrays.cpp, the parameters and Adam's moments hold for these counts.
double predicted_memory(const PredictedWork& work);

/// Microseconds of blending (forward; with backward for a step) that fall to each tile: the
/// prediction's P50, shared out by the tiles' work. [tiles], or empty where `tiles` is.
std::vector<float> predicted_tile_us(const Prediction& prediction, std::span<const TileLoad> tiles);

/// The same scene otherwise: what the counts would be. With another number of Gaussians or another
/// size an estimate (docs/model.md says the exponents), which widens intervals; 0 leaves what it
/// is.
struct WhatIf {
    double gaussians = 0;       ///< how many
    int width = 0, height = 0;  ///< px
    int sh_degree = -1;         ///< -1: as it is
    int batch = 0;
};
PredictedWork what_if(PredictedWork work, const WhatIf& change);

}  // namespace gs
