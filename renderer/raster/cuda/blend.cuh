// What the kernels of blend (blend.cu) and composite (composite.cu) share: their parameters, a
// pixel's start and end, and what is counted of a tile.
#pragma once

#include "renderer/raster/cuda/blend_pixel.cuh"
#include "renderer/raster/cuda/block_rank.cuh"
#include "renderer/raster/cuda/stages.h"

namespace gs::cuda {

inline constexpr int kBlendThreads = kTilePixels;

struct BlendParams {
    const FrameConstants* constants;
    FrameCounts* counts;
    const Splat* splats;                   ///< [slot]
    const std::uint32_t* slot_from_isect;  ///< [isects]
    const std::uint32_t* tile_begin;       ///< [tiles + 1]
    const WorkItem* items;                 ///< [items]
    const std::uint32_t* item_order;       ///< [items]
    const std::uint32_t* long_tiles;       ///< [long tiles]
    float* partials;                       ///< [partial][5][256]
    std::uint16_t* partial_contributors;   ///< [partial][256], with counters
    float* final_transmittance;            ///< [height][width], with gradients
    std::uint32_t* contributed;            ///< with gradients, by contributed_word()
    PictureView picture;
    std::uint32_t item_isects;
    const std::uint32_t* gaussian_from_slot;  ///< [slot]
};

/// What a drawing of the lists is measured for: each makes kernels of its own, so that the time is
/// that of the kernels as they always are.
enum class Measured { nothing, time, pairs };

/// Before any Gaussian; pixels outside the picture have ended.
GS_DEVICE PixelState start_of(const ThreadPixel& pixel, const FrameConstants& c,
                              std::uint32_t isects) {
    return {1.0f, 0.0f,
            0.0f, 0.0f,
            0.0f, pixel.inside ? c.log2_alpha_min : kEndedFloor,
            0,    pixel.inside ? isects : 0,
            0.0f};
}

template <Depths kDepths, bool kCounters>
GS_DEVICE void finish(const BlendParams& p, const FrameConstants& c, const ThreadPixel& pixel,
                      const PixelState& s) {
    if (!pixel.inside) return;
    const std::size_t plane =
                          static_cast<std::size_t>(c.width) * static_cast<std::size_t>(c.height),
                      o = pixel.offset;
    p.picture.color[o] = fmaf(s.t, c.background.x, s.red);
    p.picture.color[plane + o] = fmaf(s.t, c.background.y, s.green);
    p.picture.color[2 * plane + o] = fmaf(s.t, c.background.z, s.blue);
    if (p.picture.alpha != nullptr) p.picture.alpha[o] = 1.0f - s.t;
    if constexpr (kDepths != Depths::none) p.picture.depth[o] = s.depth;
    if constexpr (kDepths == Depths::with_median) p.picture.median_depth[o] = s.median;
    if constexpr (kCounters)
        if (p.picture.contributors != nullptr)
            p.picture.contributors[o] = static_cast<std::uint16_t>(min(s.contributors, 65535u));
    if (p.final_transmittance != nullptr) p.final_transmittance[o] = s.t;
}

/// Adds a finished tile to the frame's counts. `tile_end`: shared, [1]. All threads call it.
template <class Shared>
GS_DEVICE void count_tile(const BlendParams& p, const PixelState& s, const ThreadPixel& pixel,
                          std::uint32_t tile, Shared& tile_end) {
    if (threadIdx.x == 0) tile_end[0] = 0;
    __syncthreads();
    const std::uint32_t blended = warp_sum(s.contributors), looked = warp_max(s.looked);
    if (lane_id() == 0) {
        atomicAdd(reinterpret_cast<unsigned long long*>(&p.counts->blended_pairs),
                  static_cast<unsigned long long>(blended));
        if (p.picture.costs.tile_pairs != nullptr)
            atomicAdd(&p.picture.costs.tile_pairs[tile], blended);
        atomicMax(&tile_end[0], looked);
    }
    const int pixels = __syncthreads_count(pixel.inside);
    if (threadIdx.x == 0)
        atomicAdd(
            reinterpret_cast<unsigned long long*>(&p.counts->list_pairs),
            static_cast<unsigned long long>(tile_end[0]) * static_cast<unsigned long long>(pixels));
}

/// Adds the cycles since `begin` to the tile. All threads of the block call it.
GS_DEVICE void add_cycles(const CostView& costs, std::uint32_t tile, long long begin) {
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(&costs.tile_cycles[tile], static_cast<unsigned long long>(clock64() - begin));
}

/// Where plane 0 of a pixel of a partial picture lies; the others follow 256 floats apart.
GS_DEVICE std::size_t partial_at(std::uint32_t partial, const ThreadPixel& pixel) {
    return static_cast<std::size_t>(partial) * (kPartialPlanes * kTilePixels) +
           static_cast<std::size_t>(pixel.in_tile);
}

/// The kernels that a frame with these limits wants, by what of depth and whether they count.
constexpr std::size_t depths_of(const FrameLimits& limits) {
    return static_cast<std::size_t>(limits.median_depth ? Depths::with_median
                                    : limits.depth      ? Depths::expected
                                                        : Depths::none);
}

/// composite.cu: tiles of several items, after all items are drawn.
void run_composite(const Stream& stream, const FrameLimits& limits, const BlendParams& params);

}  // namespace gs::cuda
