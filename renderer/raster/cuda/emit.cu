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
/// A slot with more isects than this is listed by its whole warp, others by a lane each.
constexpr std::uint32_t kLaneIsects = 24;
constexpr std::uint32_t kStaged = kWarp * kLaneIsects;  ///< of a warp
constexpr int kOwnerShift = 27;                         ///< tiles are fewer than 2^26

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
    const std::uint32_t* isects_of_slot;    ///< [slot]
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

/// One lane lists a slot's tiles, row by row, into shared memory from `at`. As many as project
/// counted, to the last entry: should the two ever disagree, the rest becomes sentinels, which no
/// tile lists.
template <class Key, class Shared>
GS_DEVICE void list_by_lane(const EmitParams<Key>& p, std::uint32_t slot, std::uint32_t at,
                            std::uint32_t end, Shared& staged) {
    const Splat splat = p.splats[slot];
    const Coverage cover = p.coverage[slot];
    const int tiles_x = p.constants->tiles_x;
    const std::uint32_t owner = static_cast<std::uint32_t>(lane_id()) << kOwnerShift;
    for (int row = cover.y0; row < cover.y1; ++row) {
        const TileRange range = row_tiles(cover, splat, row, tiles_x);
        for (int x = range.first; x < range.end && at < end; ++x, ++at)
            staged[at] = static_cast<std::uint32_t>(row * tiles_x + x) | owner;
    }
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
    for (emission += static_cast<std::uint32_t>(lane); emission < end; emission += kWarp)
        put(p, emission, p.tiles, slot);
}

/// A thread per rank. Short lists are gathered in shared memory first: the emissions of
/// neighbouring ranks lie side by side, so the warp then writes them 32 at a time instead of each
/// lane its own few scattered words.
template <class Key>
GS_KERNEL(kThreads, 4)
void emit(EmitParams<Key> p) {
    GS_SHARED(std::uint32_t, staged, kThreads / kWarp * kStaged);  // tile, owner's lane above it
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
    for (unsigned large = __ballot_sync(kAllLanes, isects > kLaneIsects); large != 0;
         large &= large - 1) {
        const int from = __ffs(static_cast<int>(large)) - 1;
        const std::uint32_t start = __shfl_sync(kAllLanes, first, from);
        emit_by_warp(p, __shfl_sync(kAllLanes, slot, from), start,
                     start + __shfl_sync(kAllLanes, isects, from));
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
