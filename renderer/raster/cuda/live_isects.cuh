// The isects of a work item that changed a pixel of their tile: what blend backward walks, and the
// rows it leaves for project backward, which adds up those that are live.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/blend_backward.h"

namespace gs::cuda {

inline constexpr int kItemGroups = kItemIsects / 32;
static_assert(kItemGroups == kWarp, "a lane per group of 32 isects");

/// A third of a row; the first tells that the row is live.
GS_DEVICE void store_row(const FrameArrays& frame, std::uint32_t row, int part, float4 value) {
    reinterpret_cast<float4*>(frame.isect_gradients + row)[part] = value;
    if (part == 0) atomicOr(&frame.live_rows[row / 32], 1u << (row % 32));
}

/// Fills words[group][sub-tile] with the contributed masks of an item and group_any[group] with
/// their unions; the groups that have any, a bit each. All kThreads threads call it; ends behind a
/// barrier.
template <int kThreads, class Words, class Any>
GS_DEVICE unsigned load_masks(const BlendBackwardParams& p, const WorkItem& item, Words& words,
                              Any& group_any) {
    const std::uint32_t count = item.end - item.first;
    const std::uint32_t* masks =
        p.frame.contributed +
        contributed_word(item.tile, p.frame.tile_begin[item.tile], item.first, 0);
    for (std::uint32_t i = threadIdx.x; i < kItemGroups * kSubTiles; i += kThreads) {
        const std::uint32_t group = i / kSubTiles;
        std::uint32_t word = group * 32 < count ? masks[i] : 0;
        if (count < group * 32 + 32) word &= (1u << (count % 32)) - 1;
        words[i] = word;
        for (int bit = 1; bit < kSubTiles; bit *= 2) word |= __shfl_xor_sync(kAllLanes, word, bit);
        if (i % kSubTiles == 0) group_any[group] = word;
    }
    __syncthreads();
    return __ballot_sync(kAllLanes, group_any[lane_id()] != 0);
}

/// Fills live[] with the isects that changed a pixel, relative to item.first, and returns their
/// number. All kThreads threads call it, after load_masks; ends in a barrier.
template <int kThreads, class Any, class Live>
GS_DEVICE int find_live(const WorkItem& item, const Any& group_any, Live& live) {
    const std::uint32_t count = item.end - item.first;
    const int lane = lane_id();
    const std::uint32_t any = group_any[lane];
    std::uint32_t up_to = static_cast<std::uint32_t>(__popc(any));
    for (unsigned step = 1; step < kWarp; step *= 2) {
        const std::uint32_t below = __shfl_up_sync(kAllLanes, up_to, step);
        if (lane >= static_cast<int>(step)) up_to += below;
    }
    for (int group = warp_id(); group < kItemGroups; group += kThreads / kWarp) {
        const std::uint32_t alive = __shfl_sync(kAllLanes, any, group);
        const std::uint32_t before =
            __shfl_sync(kAllLanes, up_to, group) - static_cast<std::uint32_t>(__popc(alive));
        const std::uint32_t isect = static_cast<std::uint32_t>(32 * group + lane);
        if (isect >= count) continue;
        if ((alive >> lane & 1u) != 0) {
            live[before + static_cast<std::uint32_t>(__popc(alive & ((1u << lane) - 1)))] =
                static_cast<std::uint16_t>(isect);
        }
    }
    __syncthreads();
    return static_cast<int>(__shfl_sync(kAllLanes, up_to, kWarp - 1));
}

}  // namespace gs::cuda
