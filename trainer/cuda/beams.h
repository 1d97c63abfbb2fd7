// A step's beams of a lidar on the device, there and back: which tiles of rays each Gaussian may
// touch, a list a tile from front to back, a block a tile and a thread a ray. The CPU's twins are
// renderer/rays and trainer/lidar/beam_step.h. Called by StepEngine with what device_beams.h made.
#pragma once

#include "renderer/device/cuda/primitives.h"
#include "renderer/rays/places.h"
#include "trainer/cuda/batch_step.h"

namespace gs::cuda {

/// A BeamPlan with its rays in tiles; pointers are of device memory. Slots are places of
/// RayTiles::ray_of().
struct BeamInputs {
    RayPlaces places;
    Vec3d place;                 ///< nearer Gaussians are drawn first
    const float* direction_off;  ///< [3][slots] as RayTiles has them
    const float* origin_off;     ///< [3][slots]
    const float* measured;       ///< [slot] m along the ray
    std::uint32_t tiles, slots;
    RasterRules rules;
    float log2_alpha_min;
    float each;  ///< d loss / d term of one beam: weight x views / beams
};

/// A Gaussian ready to be met by rays.
struct BeamGaussian {
    float whitening[9];  ///< M by rows (math/along_ray.h)
    Vec3f mean;          ///< world
    float log2_opacity;
};
/// d loss of one pair, as cpu::RaySums: M (o - mean), M by rows, ln opacity.
inline constexpr std::uint32_t kBeamSums = 13;

/// Sums of a step's beams, read back with StepResult.
struct BeamTotals {
    double off, dark;          ///< LidarTerms::range and dark, not yet divided by the beams
    unsigned long long pairs;  ///< as many as there are, also when they do not fit
};

/// Lists of a step; a pair is a Gaussian in a tile, numbered by row and then by tile.
struct BeamArrays {
    const BeamInputs* inputs = nullptr;              ///< null: the step has no beams
    std::uint32_t tiles = 0, slots = 0, pairs = 0;   ///< capacities
    std::uint32_t* first = nullptr;                  ///< [rows + 1] where a row's pairs begin
    BeamGaussian* gaussians = nullptr;               ///< [pair] only where a row's pairs begin
    std::uint32_t* gaussian_of = nullptr;            ///< [pair] into gaussians
    std::uint64_t* keys[2] = {};                     ///< [pair] tile, then distance
    std::uint32_t* sorted[2] = {};                   ///< [pair] pairs by tile and distance
    std::uint32_t *begin = nullptr, *end = nullptr;  ///< [tile] of the sorted, end behind begin
    float* through = nullptr;                        ///< [slot] light that is left in the end
    std::uint32_t* last = nullptr;           ///< [slot] 1 + place in the list of the last blended
    float* sums = nullptr;                   ///< [pair][kBeamSums]
    double *off = nullptr, *dark = nullptr;  ///< [slot], dark behind off
    BeamTotals* totals = nullptr;
    bool operator==(const BeamArrays&) const = default;
};

struct BeamJob {
    BeamArrays beams;
    ModelView model;
    const StepInputs* step;
    const RunFlags* flags;
    FrameCounts* counts;  ///< overflow, poisoned
    const std::uint32_t* tags;
    BatchView batch;
};

/// Counts pairs. Where they do not fit, the frame does not. After the frame's lists, before the
/// loss, which then halts the run.
void launch_list_beams(const Stream& stream, Primitives& primitives, const BeamJob& job);
/// Adds the gradients to the batch, unless the run is halted; what is not finite adds nothing and
/// is counted. After the photo's own.
void launch_learn_beams(const Stream& stream, Primitives& primitives, const BeamJob& job);

}  // namespace gs::cuda
