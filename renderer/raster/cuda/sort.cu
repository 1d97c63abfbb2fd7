// Sort: visible Gaussians get ranks in the order of memory (compact) and are sorted by depth; later
// the isects they emitted are sorted by tile, stably. Costs: compact 12 V bytes, the sorts 68 V +
// 26 I (16-bit keys, two passes).
#include <algorithm>
#include <bit>
#include <utility>

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/stages.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kThreads = 256;

GS_DEVICE std::uint32_t global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

struct CompactParams {
    FrameCounts* counts;
    const Splat* splats;                    ///< [slot]
    const std::uint32_t* chunk_slots;       ///< [chunks]
    const std::uint32_t* chunk_first_rank;  ///< [chunks]
    const unsigned long long* isect_total;
    std::uint32_t* depth_keys;      ///< [visible_limit]
    std::uint32_t* slot_from_rank;  ///< [visible_limit]
    std::uint32_t chunks, visible_limit, isect_limit;
};

/// A block per chunk, and as many more threads as the tail needs.
GS_KERNEL(kThreads, 8)
void compact(CompactParams p) {
    const std::uint32_t visible =
        p.chunks == 0 ? 0 : p.chunk_first_rank[p.chunks - 1] + p.chunk_slots[p.chunks - 1];
    if (blockIdx.x < p.chunks && threadIdx.x < p.chunk_slots[blockIdx.x]) {
        const std::uint32_t slot = blockIdx.x * kThreads + threadIdx.x;
        const std::uint32_t rank = p.chunk_first_rank[blockIdx.x] + threadIdx.x;
        if (rank < p.visible_limit) {
            // Depths are positive, so their bits order as they do.
            p.depth_keys[rank] = __float_as_uint(p.splats[slot].depth);
            p.slot_from_rank[rank] = slot;
        }
    }
    for (std::uint32_t i = visible + global_thread(); i < p.visible_limit;
         i += gridDim.x * kThreads) {
        p.depth_keys[i] = ~0u;
        p.slot_from_rank[i] = ~0u;
    }
    if (global_thread() == 0) {
        const unsigned long long isects = *p.isect_total;
        p.counts->visible = visible;
        p.counts->isects = isects < ~0u ? static_cast<std::uint32_t>(isects) : ~0u;
        p.counts->overflow = visible > p.visible_limit || isects > p.isect_limit ? 1u : 0u;
    }
}

/// Sorts [0] into [1].
template <class Key>
void sort_pair(Primitives& primitives, Key* (&keys)[2], std::uint32_t* (&values)[2], std::size_t n,
               int end_bit, const Stream& stream) {
    Swap<Key> k{{keys[0], keys[1]}};
    Swap<std::uint32_t> v{{values[0], values[1]}};
    if (n > 0) primitives.sort_pairs(k, v, n, end_bit, stream);
    if (n > 0 && k.current == 0) std::swap(keys[0], keys[1]);
    if (n > 0 && v.current == 0) std::swap(values[0], values[1]);
}

}  // namespace

void run_sort_by_depth(const Stream& stream, const FrameLimits& limits, FrameArrays& a,
                       Primitives& primitives) {
    if (limits.chunks() > 0)
        primitives.exclusive_sum(a.chunk_slots, a.chunk_first_rank, limits.chunks(), stream);
    const CompactParams params{
        a.counts,       a.splats,        a.chunk_slots,       a.chunk_first_rank,
        a.isect_total,  a.depth_keys[0], a.slot_from_rank[0], limits.chunks(),
        limits.visible, limits.isects};
    const Grid tail = grid_for(limits.visible / 16 + 1, kThreads);
    launch(stream, "compact", {std::max(limits.chunks(), tail.blocks), kThreads}, compact, params);
    sort_pair(primitives, a.depth_keys, a.slot_from_rank, limits.visible, 32, stream);
}

void run_sort_by_tile(const Stream& stream, const FrameLimits& limits, FrameArrays& a,
                      Primitives& primitives) {
    const int bits =
        std::bit_width(static_cast<unsigned>(limits.tiles));  // the sentinel is `tiles`
    if (!short_tile_keys(limits))
        return sort_pair(primitives, a.tile_keys, a.payload, limits.isects, bits, stream);
    std::uint16_t* keys[2] = {reinterpret_cast<std::uint16_t*>(a.tile_keys[0]),
                              reinterpret_cast<std::uint16_t*>(a.tile_keys[1])};
    sort_pair(primitives, keys, a.payload, limits.isects, bits, stream);
    for (int i = 0; i < 2; ++i) a.tile_keys[i] = reinterpret_cast<std::uint32_t*>(keys[i]);
}

}  // namespace gs::cuda
