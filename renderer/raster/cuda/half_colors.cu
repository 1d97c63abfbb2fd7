// A thread per Gaussian reads its coefficients plane by plane, as neighbours do, and leaves them
// eight to a store.
#include "renderer/raster/cuda/half_colors.h"

#include <cuda_fp16.h>

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/math/sh.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kRoundingThreads = 256;

struct RoundColorsParams {
    const float* coefficients;  ///< [count of them][stride]
    std::uint64_t stride;
    std::uint32_t gaussians;
    std::int32_t count, groups;
    uint4* out;  ///< [groups][gaussians]
};

/// Coefficients i and i + 1; 0 behind the last.
GS_DEVICE std::uint32_t two_halves(const RoundColorsParams& p, const float* own, int i) {
    const float low = i < p.count ? own[static_cast<std::size_t>(i) * p.stride] : 0.0f,
                high = i + 1 < p.count ? own[static_cast<std::size_t>(i + 1) * p.stride] : 0.0f;
    const std::uint32_t low_bits = __half_as_ushort(__float2half_rn(low)),
                        high_bits = __half_as_ushort(__float2half_rn(high));
    return low_bits | high_bits << 16;
}

GS_KERNEL(kRoundingThreads, 4) void round_colors(RoundColorsParams p) {
    const std::uint32_t gaussian = blockIdx.x * kRoundingThreads + threadIdx.x;
    if (gaussian >= p.gaussians) return;
    const float* own = p.coefficients + gaussian;
    for (int group = 0; group < p.groups; ++group) {
        const int first = 8 * group;
        p.out[static_cast<std::size_t>(group) * p.gaussians + gaussian] =
            make_uint4(two_halves(p, own, first), two_halves(p, own, first + 2),
                       two_halves(p, own, first + 4), two_halves(p, own, first + 6));
    }
}

}  // namespace

void run_round_colors(const Stream& stream, const ModelView& model, std::uint32_t* words) {
    const RoundColorsParams params{model.values + static_cast<std::size_t>(kSh0) * model.stride,
                                   model.stride,
                                   model.count,
                                   3 * sh_bases(model.sh_degree),
                                   half_groups(model.sh_degree),
                                   reinterpret_cast<uint4*>(words)};
    launch(stream, "round colours", grid_for(model.count, kRoundingThreads), round_colors, params);
}

}  // namespace gs::cuda
