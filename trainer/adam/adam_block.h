// Adam on one block of 16 Gaussians, all planes: the SIMD kernels behind LazyAdam. The formulas in
// scalars are in renderer/math/adam.h. Compiled once per instruction set (adam_block.cpp);
// lazy_adam.cpp calls them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renderer/math/adam.h"
#include "renderer/math/adam_code.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/gaussian_model.h"
#include "trainer/settings/schedule.h"

namespace gs::adam {

inline constexpr float kEpsilon = math::kAdamEpsilon;
inline constexpr float kLargestGradient = math::kLargestAdamGradient;

/// The LearningGroup of a plane.
constexpr int group_of_plane(int plane) {
    if (plane < kLogScales) return kGroupMeans;
    if (plane < kQuats) return kGroupScales;
    if (plane < kOpacityLogits) return kGroupQuats;
    if (plane < kSh0) return kGroupOpacity;
    return plane < kShRest ? kGroupSh0 : kGroupShRest;
}

/// One block's parameters and optimizer state. A lane last stepped at s reads, after T steps, as
///   p - m / (sqrt(v) + eps) * pending[group][s - base],   m beta1^(T-s),   v beta2^(T-s).
struct Block {
    float* values;  ///< plane p of the block at values + p * stride
    std::size_t stride;
    float* moments;                         ///< [planes][2][16]: m, then v; null: they are `codes`
    std::uint32_t* last_step;               ///< [16]
    std::uint32_t base, steps;              ///< step of the tables' first entry, T
    const float* pending[kLearningGroups];  ///< [T - base + 1]
    const float* decay1;                    ///< [T - base + 1] beta1^age
    const float* decay2;                    ///< beta2^age
    std::uint16_t* codes = nullptr;         ///< [planes][16]: math::encode_moments()
    const std::uint32_t* tags = nullptr;    ///< [16] of RowIdentity, with codes
    std::uint64_t seed = 0;                 ///< of the codes' rounding
};
/// Moments of a lane's plane as they are stored.
inline math::AdamMoments stored_moments(const Block& b, int plane, std::size_t lane) {
    const std::size_t at = static_cast<std::size_t>(plane) * kBlock + lane;
    if (b.moments == nullptr) return math::decode_moments(b.codes[at]);
    const float* m = b.moments + at + static_cast<std::size_t>(plane) * kBlock;
    return {m[0], m[kBlock]};
}
struct Step {
    float rate[kLearningGroups];  ///< lr sqrt(1 - beta2^t) / (1 - beta1^t), t = T + 1
    float epsilon;                ///< eps sqrt(1 - beta2^t)
    math::AdamBetas<float> betas;
    int planes;  ///< planes that have or had gradients
};
/// How far stale lanes may still move before they are touched again, per unit of |m| / sqrt(v).
struct Drift {
    float means, scales;
};

/// Planes first .. first + count - 1 as they read after T steps, to out[count][16].
void catch_up(const Block& block, int first, int count, float* out);
/// Catches up all planes below `planes` and stores them and the decayed moments; lanes' last_step
/// becomes T.
void settle(const Block& block, int planes);
/// One Adam step. Lanes that are not in gradients.mask take it with a gradient of zero, which is
/// what they would have slept through: their moments are in the cache, and a block whose lanes are
/// all current is read as it is until another view leaves it out. Lanes with a gradient that is not
/// finite are left as they are; returns their bits. Lanes in `locked` are
/// left as they are without a report.
std::uint32_t apply(const Block& block, const Step& step, const BlockGradients& gradients,
                    std::uint32_t locked = 0);
/// Adds one view's gradients of a block to `sums` [planes][16], lane by lane, but for lanes in
/// `locked` and those whose gradient is not finite; `first`: nothing is in `sums` yet. Returns the
/// lanes that were added.
std::uint32_t add_gradients(const BlockGradients& gradients, std::uint32_t locked, int planes,
                            bool first, float* sums);
/// Sphere of everything the first `lanes` Gaussians can draw until they are touched next.
BlockBounds bounds(const Block& block, const Drift& drift, std::size_t lanes);

}  // namespace gs::adam
