// Blend backward, variant B: a block per work item, a warp per 8 x 4 sub-tile, a lane per pixel.
// Each warp walks only the isects whose contributed bit it set in forward, and folds the nine or
// ten sums of one (splat, sub-tile) over its lanes in a few shuffles. The tile's eight sub-tiles
// meet in shared memory, where they are added in the order of warps; nothing is added by atomics,
// so the same frame gives the same bits.
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/blend_backward.cuh"
#include "renderer/raster/cuda/block_rank.cuh"
#include "renderer/raster/cuda/live_isects.cuh"

namespace gs::cuda {
namespace {

inline constexpr int kBatch = 64;  ///< live isects staged at a time
inline constexpr int kBatchWords = kBatch / 32;

/// Lanes with the bit clear keep a, the others keep b; the one not kept goes to the partner.
/// Returns kept + received.
GS_DEVICE float exchange(int bit, float a, float b) {
    const bool upper = (lane_id() & bit) != 0;
    const float keep = upper ? b : a, send = upper ? a : b;
    return keep + __shfl_xor_sync(kAllLanes, send, bit);
}
GS_DEVICE float fold(int bit, float a) { return a + __shfl_xor_sync(kAllLanes, a, bit); }

/// Sums over the 32 pixels of a sub-tile, all at once. Lane bits 3 and 4 are the pixel's row, and
/// dy is the same along a row: first v, v dy, v dy^2 and the colours are summed over rows, each
/// ending in the lanes of other rows. Then every lane makes the moments in x of what it holds (dx
/// is the same along a column), and columns are summed alike. The lane ends with one of the sums:
/// which one, says target_of().
template <bool kDepth>
GS_DEVICE float sum_sub_tile(const PairGradient& pair, const PixelGradient& g, float dx, float dy) {
    const float vy = pair.v * dy, vyy = vy * dy;
    const float v_or_vyy = exchange(16, pair.v, vyy), vy_or_red = exchange(16, vy, pair.w * g.red);
    const float green_or_blue = exchange(16, pair.w * g.green, pair.w * g.blue);
    const float a = exchange(8, v_or_vyy, vy_or_red);
    float b;
    if constexpr (kDepth)
        b = exchange(8, green_or_blue, fold(16, pair.w * g.depth));
    else
        b = fold(8, green_or_blue);
    const float ax = a * dx, axx = ax * dx;
    return fold(1, exchange(2, exchange(4, a, ax), exchange(4, axx, b)));
}
/// The field of IsectGradient whose sum this lane ends with, or -1.
GS_DEVICE int target_of(int lane, bool depth) {
    if ((lane & 1) != 0) return -1;
    const int row = lane >> 3, power = (lane >> 2 & 1) + (lane & 2);  // of dx; 3: not a moment
    if (power == 3) return row == 0 ? 7 : row == 2 ? 8 : row == 1 && depth ? 9 : -1;
    if (row == 0) return power == 2 ? 3 : power;           // s, sx, sxx
    if (row == 1) return power == 2 ? -1 : 2 + 2 * power;  // sy, sxy
    return power > 0 ? -1 : row == 2 ? 5 : 6;              // syy, red
}

template <class Batch>
GS_DEVICE Splat splat_in(const Batch& batch, int i) {
    const float4 u = batch[3 * i], v = batch[3 * i + 1], w = batch[3 * i + 2];
    return {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w, w.x, w.y, w.z, w.w};
}

/// Thread 3 i + part carries 16 bytes of the batch's splat i from memory, one batch ahead, and its
/// slot two ahead.
template <bool kAtomic>
struct Carrier {
    int i, part;
    float4 splat;
    std::uint32_t row;        ///< of isect_gradients
    std::uint32_t next_slot;  ///< in the batch after

    template <class Live>
    GS_DEVICE void fetch_slot(const BlendBackwardParams& p, const WorkItem& item, const Live& live,
                              int at, int count) {
        if (i < kBatch && at + i < count)
            next_slot = p.frame.slot_from_isect[item.first + live[at + i]];
    }
    /// The batch from live isect `at`, whose slots were fetched before.
    template <class Live>
    GS_DEVICE void fetch(const BlendBackwardParams& p, const WorkItem& item, const Live& live,
                         int at, int count) {
        if (i < kBatch && at + i < count) {
            splat = reinterpret_cast<const float4*>(p.frame.splats + next_slot)[part];
            row = kAtomic ? p.frame.first_emission[next_slot]
                          : p.frame.payload[1][item.first + live[at + i]];
        }
        fetch_slot(p, item, live, at + kBatch, count);
    }
};

/// The row of a splat in this tile: the sums of its sub-tiles, in their order.
template <bool kDepth, class Sums, class Masks>
GS_DEVICE float4 sum_tile(const Sums& sums, const Masks& masks, int parity, int i, int part) {
    float4 total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int warp = 0; warp < kSubTiles; ++warp) {
        if ((masks[(parity * kSubTiles + warp) * kBatchWords + i / 32] >> (i % 32) & 1u) == 0)
            continue;
        const float4 add = sums[(warp * kBatch + i) * 3 + part];
        total = make_float4(total.x + add.x, total.y + add.y, total.z + add.z, total.w + add.w);
    }
    // What no lane has written is not there.
    return part < 2 ? total : make_float4(total.x, kDepth ? total.y : 0.0f, 0.0f, 0.0f);
}

template <bool kDepth, bool kAtomic, bool kTimed = false>
GS_KERNEL(kTilePixels, 4)
void blend_backward_sub_tile(BlendBackwardParams p) {
    GS_SHARED(std::uint32_t, words, kItemGroups * kSubTiles);
    GS_SHARED(std::uint32_t, group_any, kItemGroups);
    GS_SHARED(std::uint16_t, live, kItemIsects);
    GS_SHARED(float4, batch, kBatch * 3);
    GS_SHARED(std::uint32_t, rows, kAtomic ? kBatch : 1);
    GS_SHARED(std::uint32_t, masks,
              2 * kSubTiles * kBatchWords);  // of this batch and the one before
    GS_SHARED(float4, sums, kAtomic ? 1 : kSubTiles * kBatch * 3);
    if (p.frame.counts->overflow != 0 || blockIdx.x >= p.frame.counts->items) return;
    [[maybe_unused]] const long long begin = kTimed ? clock64() : 0;
    const WorkItem item = p.frame.items[p.frame.item_order[blockIdx.x]];
    if (item.first == item.end) return;
    const int count = find_live<kTilePixels>(p, item, words, group_any, live, !kAtomic);

    const FrameConstants& c = *p.frame.constants;
    const BlendRules rules(c);
    const int lane = lane_id(), warp = warp_id(), target = target_of(lane, kDepth);
    const ThreadPixel pixel = thread_pixel(c, item.tile);
    PixelGradient g{};
    ReplayState state{};
    if (pixel.inside) state = start_pixel<kDepth>(p, c, item, pixel.offset, pixel.in_tile, g);

    const int thread = static_cast<int>(threadIdx.x);
    Carrier<kAtomic> carrier{thread / 3, thread % 3, {}, 0, 0};
    carrier.fetch_slot(p, item, live, 0, count);
    carrier.fetch(p, item, live, 0, count);
    for (int first = 0, parity = 0; first < count; first += kBatch, parity ^= 1) {
        const bool carries = carrier.i < min(kBatch, count - first);
        const std::uint32_t row = carrier.row;
        if (carries) batch[thread] = carrier.splat;
        if (kAtomic && carries && carrier.part == 0) rows[carrier.i] = row;
        unsigned mask[kBatchWords];
        for (int word = 0; word < kBatchWords; ++word) {
            const int i = first + 32 * word + lane, isect = i < count ? live[i] : 0;
            const std::uint32_t bits = words[isect / 32 * kSubTiles + warp] >> (isect % 32);
            mask[word] = __ballot_sync(kAllLanes, i < count && (bits & 1u) != 0);
            if (lane == 0) masks[(parity * kSubTiles + warp) * kBatchWords + word] = mask[word];
        }
        __syncthreads();
        carrier.fetch(p, item, live, first + kBatch, count);
        for (int word = 0; word < kBatchWords; ++word)
            for (unsigned left = mask[word]; left != 0; left &= left - 1) {
                const int i = 32 * word + __ffs(static_cast<int>(left)) - 1;
                const Splat splat = splat_in(batch, i);
                const float dx = pixel.x - splat.x, dy = pixel.y - splat.y;
                const PairGradient pair = replay<kDepth>(state, g, splat, dx, dy, rules);
                const float sum = sum_sub_tile<kDepth>(pair, g, dx, dy);
                if (kAtomic && target >= 0)
                    atomicAdd(&p.frame.isect_gradients[rows[kAtomic ? i : 0]].s + target, sum);
                if (!kAtomic && target >= 0)
                    (&sums[kAtomic ? 0 : (warp * kBatch + i) * 3].x)[target] = sum;
            }
        __syncthreads();
        if (!kAtomic && carries)
            store_row(p.frame.isect_gradients, row, carrier.part,
                      sum_tile<kDepth>(sums, masks, parity, carrier.i, carrier.part));
    }
    if constexpr (kTimed) {
        __syncthreads();
        if (thread == 0)
            atomicAdd(&p.gradients.costs.tile_cycles[item.tile],
                      static_cast<unsigned long long>(clock64() - begin));
    }
}

/// What the replay walks: for each isect the pixels of the sub-tiles whose bit forward set. A block
/// a tile.
GS_KERNEL(kTilePixels, 4)
void count_backward_pairs(BlendBackwardParams p) {
    if (p.frame.counts->overflow != 0) return;
    const std::uint32_t tile = blockIdx.x, first = p.frame.tile_begin[tile],
                        end = p.frame.tile_begin[tile + 1];
    const FrameConstants& c = *p.frame.constants;
    const int right = c.width - static_cast<int>(tile) % c.tiles_x * kTileSize,
              bottom = c.height - static_cast<int>(tile) / c.tiles_x * kTileSize;
    std::uint32_t sum = 0;
    for (std::uint32_t isect = first + threadIdx.x; isect < end; isect += kTilePixels) {
        std::uint32_t pairs = 0;
        for (int sub = 0; sub < kSubTiles; ++sub) {
            const std::uint32_t word =
                p.frame.contributed[contributed_word(tile, first, isect, sub)];
            const int columns = min(max(right - sub % 2 * kSubTileWidth, 0), kSubTileWidth),
                      rows = min(max(bottom - sub / 2 * kSubTileHeight, 0), kSubTileHeight);
            if ((word >> ((isect - first) % 32) & 1u) != 0)
                pairs += static_cast<std::uint32_t>(columns * rows);
        }
        sum += pairs;
        atomicAdd(&p.gradients.costs
                       .evaluated[p.frame.gaussian_from_slot[p.frame.slot_from_isect[isect]]],
                  pairs);
    }
    sum = warp_sum(sum);
    if (lane_id() == 0) atomicAdd(&p.gradients.costs.tile_pairs[tile], sum);
}

/// Zeros the rows that the atomic variant adds to.
GS_KERNEL(kChunk, 4)
void clear_first_rows(BlendBackwardParams p) {
    const std::uint32_t slot = blockIdx.x * kChunk + threadIdx.x;
    if (p.frame.counts->overflow != 0 || threadIdx.x >= p.frame.chunk_slots[blockIdx.x]) return;
    for (int part = 0; part < 3; ++part)
        store_row(p.frame.isect_gradients, p.frame.first_emission[slot], part,
                  make_float4(0.0f, 0.0f, 0.0f, 0.0f));
}

}  // namespace

void launch_blend_backward_sub_tile(const Stream& stream, const FrameLimits& limits,
                                    const BlendBackwardParams& params) {
    const Grid grid{limits.max_items(), kTilePixels};
    if (params.gradients.costs.tile_cycles != nullptr) {
        launch(stream, "count backward pairs",
               Grid{static_cast<std::uint32_t>(limits.tiles), kTilePixels}, count_backward_pairs,
               params);
        launch(stream, "blend backward", grid, blend_backward_sub_tile<false, false, true>, params);
    } else if (params.gradients.depth != nullptr)
        launch(stream, "blend backward", grid, blend_backward_sub_tile<true, false>, params);
    else
        launch(stream, "blend backward", grid, blend_backward_sub_tile<false, false>, params);
}

void launch_blend_backward_atomic(const Stream& stream, const FrameLimits& limits,
                                  const BlendBackwardParams& params) {
    launch(stream, "clear first rows", Grid{limits.chunks(), kChunk}, clear_first_rows, params);
    const Grid grid{limits.max_items(), kTilePixels};
    if (params.gradients.depth != nullptr)
        launch(stream, "blend backward, atomic", grid, blend_backward_sub_tile<true, true>, params);
    else
        launch(stream, "blend backward, atomic", grid, blend_backward_sub_tile<false, true>,
               params);
}

void launch_blend_backward(const Stream& stream, const FrameLimits& limits,
                           const BlendBackwardParams& params, BackwardVariant variant) {
    switch (variant) {
        case BackwardVariant::sub_tile:
            return launch_blend_backward_sub_tile(stream, limits, params);
        case BackwardVariant::systolic:
            return launch_blend_backward_systolic(stream, limits, params);
        case BackwardVariant::sub_tile_atomic:
            return launch_blend_backward_atomic(stream, limits, params);
    }
}

}  // namespace gs::cuda
