// Where each tile's list begins, and the work items that blending is launched with: a tile of at
// most `item_isects` isects is one item, a longer one several, so that no block is left working
// alone at the end. Items are ordered longest first by counting classes of size; everything is
// counted per 256 tiles and added up in order, so the order is the same every time. Cost: a third
// of log2(I) rounds of loads that wait for each other; reading all keys instead would move 2 I
// bytes.
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/block_rank.cuh"
#include "renderer/raster/cuda/stages.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kThreads = 256, kWarps = kThreads / kWarp,
                        kFindingThreads = kThreads + kWarp;
constexpr int kSizeClassBits = 6;
static_assert(1 << kSizeClassBits == kSizeClasses && kSizeClasses == 2 * kWarp);
constexpr std::uint32_t kFullItems = kSizeClasses,
                        kLongTiles = kSizeClasses + 1;  // columns of order_counts

constexpr std::uint32_t kSummed = 16;  ///< counts that a thread of make_items loads at once

struct RangeParams {
    FrameCounts* counts;
    const void* tile_keys;        ///< [isects] sorted
    std::uint32_t* tile_begin;    ///< [tiles + 1]
    std::uint32_t* order_counts;  ///< [blocks][kOrderCounts]
    WorkItem* items;
    std::uint32_t* item_order;
    std::uint32_t* long_tiles;
    std::uint32_t first_tile, tiles, item_isects;  ///< tiles [first_tile, tiles) are looked at
    bool short_keys;
};

/// A tile as work: `full` items of item_isects, then one of `rest`.
struct TileWork {
    std::uint32_t full, rest, size_class;
};
GS_DEVICE TileWork work_of(std::uint32_t isects, std::uint32_t item_isects) {
    const std::uint32_t full = isects > item_isects ? (isects - 1) / item_isects : 0;
    const std::uint32_t rest = isects - full * item_isects;
    const std::uint32_t place = (item_isects - rest) * kSizeClasses / item_isects;
    return {full, rest, min(place, static_cast<std::uint32_t>(kSizeClasses - 1))};
}

/// The first isect whose key is not below `tile`. Loads that wait for each other are what it takes:
/// each turn looks at seven places at once and leaves an eighth.
template <class Key>
GS_DEVICE std::uint32_t lower_bound(const Key* keys, std::uint32_t isects, std::uint32_t tile) {
    constexpr std::uint32_t kParts = 8;
    std::uint32_t lo = 0, hi = isects;
    while (lo < hi) {
        const std::uint32_t part = (hi - lo + kParts - 1) / kParts;
        std::uint32_t below = 0;  // of the places looked at, all keys but the last part's begin
        GS_UNROLL
        for (std::uint32_t i = 1; i < kParts; ++i) {
            const std::uint32_t at = lo + i * part - 1;
            below += at < hi && keys[at] < tile ? 1u : 0u;
        }
        const std::uint32_t first = lo + below * part;
        // Of the part that is left the last key is known not to be below, but for the last part.
        hi = below + 1 < kParts ? min(first + part - 1, hi) : hi;
        lo = min(first, hi);
    }
    return lo;
}
GS_DEVICE std::uint32_t begin_of(const RangeParams& p, std::uint32_t tile) {
    return p.short_keys
               ? lower_bound(static_cast<const std::uint16_t*>(p.tile_keys), p.counts->isects, tile)
               : lower_bound(static_cast<const std::uint32_t*>(p.tile_keys), p.counts->isects,
                             tile);
}

/// A thread per tile: where it begins, and the block's counts. One thread of a warp more finds
/// where the block's last tile ends.
GS_KERNEL(kFindingThreads, 4)
void find_ranges(RangeParams p) {
    GS_SHARED(std::uint32_t, begin, kThreads + 1);
    GS_SHARED(std::uint32_t, columns, kOrderCounts);
    if (p.counts->overflow != 0) return;
    const std::uint32_t thread = threadIdx.x, tile = p.first_tile + blockIdx.x * kThreads + thread;
    if (thread <= kThreads) begin[thread] = begin_of(p, min(tile, p.tiles));
    if (thread < kOrderCounts) columns[thread] = 0;
    __syncthreads();
    if (thread < kThreads && tile < p.tiles) {
        const std::uint32_t isects = begin[thread + 1] - begin[thread];
        p.tile_begin[tile] = begin[thread];
        if (tile == p.tiles - 1) p.tile_begin[p.tiles] = begin[thread + 1];
        const TileWork work = work_of(isects, p.item_isects);
        atomicAdd(&columns[work.size_class], 1u);
        if (work.full > 0) {
            atomicAdd(&columns[kFullItems], work.full);
            atomicAdd(&columns[kLongTiles], 1u);
        }
        if (isects > p.counts->longest_tile) atomicMax(&p.counts->longest_tile, isects);
    }
    __syncthreads();
    if (thread < kOrderCounts) p.order_counts[blockIdx.x * kOrderCounts + thread] = columns[thread];
}

/// How many of the block's threads before this one have its class, of kSizeClasses. All threads
/// call it; `counts`: shared, [kWarps * kSizeClasses].
template <class Shared>
GS_DEVICE std::uint32_t rank_in_class(std::uint32_t size_class, Shared& counts) {
    for (std::uint32_t i = threadIdx.x; i < kWarps * kSizeClasses; i += kThreads) counts[i] = 0;
    __syncthreads();
    const unsigned peers = lanes_of_digit<kSizeClassBits>(size_class);
    const std::uint32_t warp = static_cast<std::uint32_t>(warp_id());
    const unsigned before = peers & ((1u << lane_id()) - 1u);
    if (before == 0)
        counts[warp * kSizeClasses + size_class] = static_cast<std::uint32_t>(__popc(peers));
    __syncthreads();
    std::uint32_t rank = static_cast<std::uint32_t>(__popc(before));
    for (std::uint32_t w = 0; w < kWarps; ++w)
        rank += w < warp ? counts[w * kSizeClasses + size_class] : 0u;
    return rank;
}

/// A thread per tile writes its items and their places in the order.
GS_KERNEL(kThreads, 4)
void make_items(RangeParams p) {
    GS_SHARED(std::uint32_t, before, kOrderCounts);  // in the blocks before this one
    GS_SHARED(std::uint32_t, all, kOrderCounts);
    GS_SHARED(std::uint32_t, class_begin, kSizeClasses);
    GS_SHARED(std::uint32_t, class_counts, kWarps * kSizeClasses);
    GS_SHARED(std::uint32_t, full_sums, kWarps);
    GS_SHARED(std::uint32_t, long_sums, kWarps);
    if (p.counts->overflow != 0) return;
    const std::uint32_t thread = threadIdx.x, tile = p.first_tile + blockIdx.x * kThreads + thread;
    const bool inside = tile < p.tiles;
    const std::uint32_t first = inside ? p.tile_begin[tile] : 0,
                        end = inside ? p.tile_begin[tile + 1] : 0;
    if (thread < kOrderCounts) {
        std::uint32_t sum = 0, sum_before = 0;
        for (std::uint32_t first_block = 0; first_block < gridDim.x; first_block += kSummed) {
            GS_UNROLL
            for (std::uint32_t i = 0; i < kSummed; ++i) {
                const std::uint32_t block = first_block + i;
                const std::uint32_t of =
                    block < gridDim.x ? p.order_counts[block * kOrderCounts + thread] : 0;
                sum_before += block < blockIdx.x ? of : 0u;
                sum += of;
            }
        }
        before[thread] = sum_before;
        all[thread] = sum;
    }
    const TileWork work = work_of(end - first, p.item_isects);
    const std::uint32_t of_class = rank_in_class(work.size_class, class_counts);
    const BlockRank full = block_sum_before(work.full, full_sums),
                    longer = block_rank(work.full > 0, long_sums);
    if (warp_id() == 0) {  // two classes a lane
        const std::uint32_t here = all[2 * thread] + all[2 * thread + 1],
                            begin = warp_sum_before(here);
        class_begin[2 * thread] = begin;
        class_begin[2 * thread + 1] = begin + all[2 * thread];
    }
    __syncthreads();
    if (tile == p.first_tile) {
        p.counts->items = p.tiles - p.first_tile + all[kFullItems];
        p.counts->long_tiles = all[kLongTiles];
    }
    if (!inside) return;
    const std::uint32_t place =
        all[kFullItems] + class_begin[work.size_class] + before[work.size_class] + of_class;
    const std::uint32_t full_before = before[kFullItems] + full.rank,
                        long_before = before[kLongTiles] + longer.rank;
    const std::uint32_t partial = full_before + long_before;
    for (std::uint32_t i = 0; i < work.full; ++i) {
        const std::uint32_t begin = first + i * p.item_isects;
        p.items[p.tiles + full_before + i] = {tile, begin, begin + p.item_isects, i, partial + i};
        p.item_order[full_before + i] = p.tiles + full_before + i;
    }
    p.items[tile] = {tile, end - work.rest, end, work.full,
                     work.full > 0 ? partial + work.full : ~0u};
    p.item_order[place] = tile;
    if (work.full > 0) p.long_tiles[long_before] = tile;
}

struct SlotParams {
    const FrameCounts* counts;
    const std::uint32_t* emission_from_isect;  ///< [isects]
    const std::uint32_t* slot_of_emission;     ///< [isects]
    std::uint32_t* slot_from_isect;            ///< [isects]
    std::uint32_t* live_rows;                  ///< a bit per isect, and a word behind the last
};

GS_KERNEL(kThreads, 8)
void look_up_slots(SlotParams p) {
    if (p.counts->overflow != 0) return;
    const std::uint32_t isect = blockIdx.x * kThreads + threadIdx.x;
    if (isect >= p.counts->isects) return;
    p.slot_from_isect[isect] = p.slot_of_emission[p.emission_from_isect[isect]];
    if (isect % 32 == 0) p.live_rows[isect / 32] = 0;
    if (isect == p.counts->isects - 1) p.live_rows[isect / 32 + 1] = 0;
}

}  // namespace

void run_ranges(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
                TileGroup group) {
    const RangeParams params{a.counts,  a.tile_keys[1],     a.tile_begin,           a.order_counts,
                             a.items,   a.item_order,       a.long_tiles,           group.first,
                             group.end, limits.item_isects, short_tile_keys(limits)};
    const Grid tiles = grid_for(group.end - group.first, kThreads);
    launch(stream, "ranges", {tiles.blocks, kFindingThreads}, find_ranges, params);
    launch(stream, "items", tiles, make_items, params);
    if (limits.gradients)
        launch(
            stream, "slots", grid_for(limits.isects, kThreads), look_up_slots,
            SlotParams{a.counts, a.payload[1], a.slot_of_emission, a.slot_from_isect, a.live_rows});
}

}  // namespace gs::cuda
