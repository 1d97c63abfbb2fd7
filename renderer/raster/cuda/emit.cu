// Emit: visible Gaussians, front to back, list their tiles (count, scan, emit); the stable sort by
// tile that follows leaves every tile's list front to back. Costs: count 12 V bytes, emit 92 V + (4
// or 10) I written.
#include <algorithm>

#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/block_rank.cuh"
#include "renderer/raster/cuda/stages.h"
#include "renderer/raster/cuda/tile_rows.cuh"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kThreads = 256;
/// A slot with more isects than this is listed by its whole warp or block, others by a lane each.
/// As many as leave four blocks room in the 100 KB of a multiprocessor that has no more.
constexpr std::uint32_t kLaneIsects = 23;
/// A slot with more than this is listed by the whole block: a warp can have many of them, as ranks
/// are sorted by depth and what fills the picture is near, and the device would wait for it.
constexpr std::uint32_t kWarpIsects = 128;
constexpr std::uint32_t kStaged = kWarp * kLaneIsects;  ///< of a warp
constexpr std::uint32_t kLists = 3 * kThreads;  ///< of `staged`, where what a block lists begins
constexpr int kOwnerShift = 27;                 ///< tiles are fewer than 2^26

GS_DEVICE std::uint32_t global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

struct CountParams {
    const FrameCounts* counts;
    const std::uint32_t* slot_from_rank;  ///< [visible_limit]
    const std::uint32_t* isects_of_slot;  ///< [slot]
    std::uint32_t* isects_of_rank;        ///< [visible_limit]
    std::uint32_t visible_limit;
};

GS_KERNEL(kThreads, 8)
void count(CountParams p) {
    const std::uint32_t rank = global_thread();
    if (rank >= p.visible_limit) return;
    // A frame that does not fit counts nothing: the sum of what is listed must fit 32 bits.
    const bool counts = p.counts->overflow == 0 && rank < p.counts->visible;
    p.isects_of_rank[rank] = counts ? p.isects_of_slot[p.slot_from_rank[rank]] : 0u;
}

template <class Key>
struct EmitParams {
    const FrameCounts* counts;
    const FrameConstants* constants;
    const Splat* splats;                    ///< [slot]
    const Coverage* coverage;               ///< [slot]
    std::uint32_t* isects_of_slot;          ///< [slot] lowered where fewer were found
    const std::uint32_t* slot_from_rank;    ///< [visible_limit]
    const std::uint32_t* emission_of_rank;  ///< [visible_limit]
    std::uint32_t* first_emission;          ///< [slot]
    Key* tile_keys;                         ///< [isect_limit]
    std::uint32_t* payload;                 ///< [isect_limit]
    std::uint32_t* slot_of_emission;        ///< [isect_limit], or null: payload is the slot
    std::uint32_t isect_limit, tiles;
};

template <class Key>
GS_DEVICE void put(const EmitParams<Key>& p, std::uint32_t emission, std::uint32_t tile,
                   std::uint32_t slot) {
    p.tile_keys[emission] = static_cast<Key>(tile);
    if (p.slot_of_emission == nullptr) {
        p.payload[emission] = slot;
        return;
    }
    p.payload[emission] = emission;
    p.slot_of_emission[emission] = slot;
}

/// Project counted `counted` tiles for a slot, and `found` were listed. Should the two ever
/// disagree, the emissions left over are sentinels, which no tile lists and blend backward never
/// sees: project backward must not add up their rows, which nobody wrote.
template <class Key>
GS_DEVICE void leave_out_missing(const EmitParams<Key>& p, std::uint32_t slot, std::uint32_t found,
                                 std::uint32_t counted) {
    if (found < counted) p.isects_of_slot[slot] = found;
}

/// One lane lists a slot's tiles, row by row, into shared memory from `at`. As many as project
/// counted, to the last entry.
template <class Key, class Shared>
GS_DEVICE void list_by_lane(const EmitParams<Key>& p, std::uint32_t slot, std::uint32_t at,
                            std::uint32_t end, Shared& staged) {
    const Splat splat = p.splats[slot];
    const Coverage cover = p.coverage[slot];
    const int tiles_x = p.constants->tiles_x;
    const std::uint32_t owner = static_cast<std::uint32_t>(lane_id()) << kOwnerShift, first = at;
    for (int row = cover.y0; row < cover.y1; ++row) {
        const TileRange range = row_tiles(cover, splat, row, tiles_x);
        for (int x = range.first; x < range.end && at < end; ++x, ++at)
            staged[at] = static_cast<std::uint32_t>(row * tiles_x + x) | owner;
    }
    leave_out_missing(p, slot, at - first, end - first);
    for (; at < end; ++at) staged[at] = p.tiles | owner;
}

/// The warp lists a slot's tiles: a lane per row finds the ranges, then all lanes write row after
/// row.
template <class Key>
GS_DEVICE void emit_by_warp(const EmitParams<Key>& p, std::uint32_t slot, std::uint32_t first,
                            std::uint32_t end) {
    const Splat splat = p.splats[slot];
    const Coverage cover = p.coverage[slot];
    const int tiles_x = p.constants->tiles_x, lane = lane_id();
    std::uint32_t emission = first;
    for (int top = cover.y0; top < cover.y1; top += kWarp) {
        TileRange mine{0, 0};
        if (top + lane < cover.y1) mine = row_tiles(cover, splat, top + lane, tiles_x);
        for (int i = 0; i < kWarp && top + i < cover.y1; ++i) {
            const int x0 = __shfl_sync(kAllLanes, mine.first, i),
                      x1 = __shfl_sync(kAllLanes, mine.end, i);
            const std::uint32_t width = static_cast<std::uint32_t>(x1 - x0);
            const std::uint32_t tile = static_cast<std::uint32_t>((top + i) * tiles_x + x0);
            for (std::uint32_t k = static_cast<std::uint32_t>(lane);
                 k < width && emission + k < end; k += kWarp)
                put(p, emission + k, tile + k, slot);
            emission += width;
        }
    }
    if (lane == 0) leave_out_missing(p, slot, emission - first, end - first);
    for (emission += static_cast<std::uint32_t>(lane); emission < end; emission += kWarp)
        put(p, emission, p.tiles, slot);
}

/// What a block lists together: emissions [first, end) of a slot.
struct LongList {
    std::uint32_t slot, first, end;
};

/// The block lists a slot's tiles: every thread finds the range of a row, sums of the widths say
/// where each row's begin, then warps write row after row. By all threads; `rows_of`: shared,
/// [3 thread], `warps`: shared, [warp].
template <class Key, class Rows, class Warps>
GS_DEVICE void emit_by_block(const EmitParams<Key>& p, const LongList& list, Rows& rows_of,
                             Warps& warps) {
    const Splat splat = p.splats[list.slot];
    const Coverage cover = p.coverage[list.slot];
    const int tiles_x = p.constants->tiles_x, thread = static_cast<int>(threadIdx.x);
    const std::uint32_t lane = static_cast<std::uint32_t>(lane_id());
    std::uint32_t emission = list.first;
    for (int top = cover.y0; top < cover.y1; top += static_cast<int>(kThreads)) {
        const int rows = min(cover.y1 - top, static_cast<int>(kThreads));
        TileRange mine{0, 0};
        if (thread < rows) mine = row_tiles(cover, splat, top + thread, tiles_x);
        const std::uint32_t width = static_cast<std::uint32_t>(mine.end - mine.first),
                            before = warp_sum_before(width), in_warp = warp_sum(width);
        if (lane == 0) warps[warp_id()] = in_warp;
        __syncthreads();
        std::uint32_t begin = emission + before;
        for (int w = 0; w < static_cast<int>(kThreads) / kWarp; ++w) {
            begin += w < warp_id() ? warps[w] : 0u;
            emission += warps[w];
        }
        const std::uint32_t tile =
            static_cast<std::uint32_t>((top + thread) * tiles_x + mine.first);
        rows_of[3 * threadIdx.x] = begin;
        rows_of[3 * threadIdx.x + 1] = width;
        rows_of[3 * threadIdx.x + 2] = tile;
        __syncthreads();
        for (int row = warp_id(); row < rows; row += static_cast<int>(kThreads) / kWarp) {
            const std::uint32_t at = rows_of[3 * row], count = rows_of[3 * row + 1],
                                first_tile = rows_of[3 * row + 2];
            for (std::uint32_t k = lane; k < count && at + k < list.end; k += kWarp)
                put(p, at + k, first_tile + k, list.slot);
        }
        __syncthreads();
    }
    if (thread == 0) leave_out_missing(p, list.slot, emission - list.first, list.end - list.first);
    for (emission += threadIdx.x; emission < list.end; emission += kThreads)
        put(p, emission, p.tiles, list.slot);
}

/// A thread per rank. Short lists are gathered in shared memory first: the emissions of
/// neighbouring ranks lie side by side, so the warp then writes them 32 at a time instead of each
/// lane its own few scattered words.
template <class Key>
GS_KERNEL(kThreads, 4)
void emit(EmitParams<Key> p) {
    GS_SHARED(std::uint32_t, staged, kThreads / kWarp * kStaged);  // tile, owner's lane above it
    GS_SHARED(std::uint32_t, warps, kThreads / kWarp);
    if (p.counts->overflow != 0) return;
    const std::uint32_t rank = global_thread(), lane = static_cast<std::uint32_t>(lane_id());
    std::uint32_t slot = 0, first = 0, isects = 0;
    if (rank < p.counts->visible) {
        slot = p.slot_from_rank[rank];
        first = p.emission_of_rank[rank];
        isects = p.isects_of_slot[slot];
        p.first_emission[slot] = first;
    }
    const std::uint32_t mine = isects <= kLaneIsects ? isects : 0, before = warp_sum_before(mine),
                        total = warp_sum(mine);
    const std::uint32_t base = static_cast<std::uint32_t>(warp_id()) * kStaged;
    if (mine > 0) list_by_lane(p, slot, base + before, base + before + mine, staged);
    __syncwarp();
    for (std::uint32_t start = 0; start < total; start += kWarp) {
        const bool in = start + lane < total;
        const std::uint32_t entry = in ? staged[base + start + lane] : 0;
        const int owner = static_cast<int>(entry >> kOwnerShift);
        const std::uint32_t emission = __shfl_sync(kAllLanes, first - before, owner) + start + lane;
        const std::uint32_t owner_slot = __shfl_sync(kAllLanes, slot, owner);
        if (in) put(p, emission, entry & ((1u << kOwnerShift) - 1u), owner_slot);
    }
    for (unsigned large = __ballot_sync(kAllLanes, isects > kLaneIsects && isects <= kWarpIsects);
         large != 0; large &= large - 1) {
        const int from = __ffs(static_cast<int>(large)) - 1;
        const std::uint32_t start = __shfl_sync(kAllLanes, first, from);
        emit_by_warp(p, __shfl_sync(kAllLanes, slot, from), start,
                     start + __shfl_sync(kAllLanes, isects, from));
    }
    // What was staged has been written: its memory serves for what the block lists together, and
    // behind that for their rows.
    const BlockRank lists = block_rank(isects > kWarpIsects, warps);
    if (isects > kWarpIsects) {
        staged[kLists + 3 * lists.rank] = slot;
        staged[kLists + 3 * lists.rank + 1] = first;
        staged[kLists + 3 * lists.rank + 2] = first + isects;
    }
    __syncthreads();
    for (std::uint32_t i = 0; i < lists.total; ++i) {
        const std::uint32_t at = kLists + 3 * i;
        emit_by_block(p, {staged[at], staged[at + 1], staged[at + 2]}, staged, warps);
    }
    for (std::uint32_t i = p.counts->isects + rank; i < p.isect_limit; i += gridDim.x * kThreads)
        put(p, i, p.tiles, 0u);
}

template <class Key>
void run_emit_as(const Stream& stream, const FrameLimits& limits, const FrameArrays& a) {
    const EmitParams<Key> params{a.counts,
                                 a.constants,
                                 a.splats,
                                 a.coverage,
                                 a.isects_of_slot,
                                 a.slot_from_rank[1],
                                 a.emission_of_rank,
                                 a.first_emission,
                                 reinterpret_cast<Key*>(a.tile_keys[0]),
                                 a.payload[0],
                                 limits.gradients ? a.slot_of_emission : nullptr,
                                 limits.isects,
                                 static_cast<std::uint32_t>(limits.tiles)};
    // Enough threads for a lane per rank, and for a tail of a quarter of the isects at a few each.
    launch(stream, "emit", grid_for(std::max(limits.visible, limits.isects / 16 + 1), kThreads),
           emit<Key>, params);
}

}  // namespace

void run_emit(const Stream& stream, const FrameLimits& limits, FrameArrays& a,
              Primitives& primitives) {
    const CountParams params{a.counts, a.slot_from_rank[1], a.isects_of_slot, a.emission_of_rank,
                             limits.visible};
    launch(stream, "count", grid_for(limits.visible, kThreads), count, params);
    if (limits.visible > 0)
        primitives.exclusive_sum(a.emission_of_rank, a.emission_of_rank, limits.visible, stream);
    if (short_tile_keys(limits))
        run_emit_as<std::uint16_t>(stream, limits, a);
    else
        run_emit_as<std::uint32_t>(stream, limits, a);
}

}  // namespace gs::cuda
