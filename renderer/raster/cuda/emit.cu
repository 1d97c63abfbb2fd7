// Emit: visible Gaussians, front to back, list their tiles; the stable sort by tile that follows
// leaves every tile's list front to back. Count adds up how many tiles each will list, so that each
// knows where its own begin. Then a block lists kEmitted of the emissions whoever they belong to:
// what fills the picture is near, so all of it has neighbouring ranks, and whoever took a Gaussian
// a thread, a warp or a block would have the device wait for one block. Costs: count 12 V bytes,
// emit 40 V + (4 or 10) I written; 48 bytes more where a box has over 32 tiles.

#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/chained_sum.cuh"
#include "renderer/raster/cuda/digit_counts.cuh"
#include "renderer/raster/cuda/stages.h"
#include "renderer/raster/cuda/tile_rows.cuh"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kThreads = 256, kWarps = kThreads / kWarp;
constexpr std::uint32_t kCounted = kCountedRanks / kThreads;  ///< ranks of one thread

struct CountParams {
    const FrameCounts* counts;
    const std::uint32_t* slot_from_rank;  ///< [visible_limit]
    const std::uint32_t* isects_of_slot;  ///< [slot]
    std::uint32_t* emission_of_rank;      ///< [visible_limit]
    std::uint32_t* rank_of_part;          ///< [isects / kEmitted]
    std::uint32_t* first_emission;        ///< [slot], or null: nobody asks
    unsigned long long* chain;
};

/// A warp adds up kCounted times 32 ranks that lie side by side.
GS_KERNEL(kThreads, 6)
void count(CountParams p) {
    GS_SHARED(std::uint32_t, ticket, 1);
    GS_SHARED(std::uint32_t, warp_sums, kWarps);
    GS_SHARED(std::uint32_t, base, 1);
    // Of a frame that does not fit the sum need not fit 32 bits.
    if (p.counts->overflow != 0) return;
    const std::uint32_t block = take_ticket(p.chain, ticket), visible = p.counts->visible;
    if (block * kCountedRanks >= visible) return;
    const std::uint32_t lane = static_cast<std::uint32_t>(lane_id()),
                        warp = static_cast<std::uint32_t>(warp_id());
    const std::uint32_t first_rank = block * kCountedRanks + warp * kCounted * kWarp + lane;
    std::uint32_t slots[kCounted], isects[kCounted];
    GS_UNROLL
    for (std::uint32_t i = 0; i < kCounted; ++i) {
        const std::uint32_t rank = first_rank + i * kWarp;
        slots[i] = rank < visible ? p.slot_from_rank[rank] : ~0u;
    }
    GS_UNROLL
    for (std::uint32_t i = 0; i < kCounted; ++i)
        isects[i] = slots[i] != ~0u ? p.isects_of_slot[slots[i]] : 0;
    std::uint32_t before[kCounted], of_warp = 0;
    GS_UNROLL
    for (std::uint32_t i = 0; i < kCounted; ++i) {
        const std::uint32_t in_row = warp_sum_before(isects[i]);
        before[i] = of_warp + in_row;
        of_warp += __shfl_sync(kAllLanes, in_row + isects[i], kWarp - 1);
    }
    if (lane == 0) warp_sums[warp] = of_warp;
    __syncthreads();
    std::uint32_t of_block = 0, earlier_warps = 0;
    for (std::uint32_t w = 0; w < kWarps; ++w) {
        earlier_warps += w < warp ? warp_sums[w] : 0u;
        of_block += warp_sums[w];
    }
    if (warp == 0) {
        const unsigned long long earlier = sum_of_earlier(p.chain, block, of_block);
        if (lane == 0) base[0] = static_cast<std::uint32_t>(earlier);
    }
    __syncthreads();
    GS_UNROLL
    for (std::uint32_t i = 0; i < kCounted; ++i) {
        if (slots[i] == ~0u) continue;
        const std::uint32_t first = base[0] + earlier_warps + before[i],
                            rank = first_rank + i * kWarp;
        p.emission_of_rank[rank] = first;
        if (p.first_emission != nullptr) p.first_emission[slots[i]] = first;
        for (std::uint32_t part = (first + kEmitted - 1) / kEmitted;
             part * kEmitted < first + isects[i]; ++part)
            p.rank_of_part[part] = rank;
    }
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
    const std::uint32_t* rank_of_part;      ///< [isects / kEmitted]
    Key* tile_keys;                         ///< [isects]
    std::uint32_t* payload;                 ///< [isects]
    std::uint32_t* slot_of_emission;        ///< [isects], or null: payload is the slot
    std::uint32_t* digits;                  ///< [digit][kDigits] how often each comes
    int digit_bits;
    std::uint32_t tiles;
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

/// The last of 256 ascending numbers that is not above `x`; the first is not.
template <class Shared>
GS_DEVICE std::uint32_t last_not_above(const Shared& ascending, std::uint32_t x) {
    std::uint32_t at = 0;
    GS_UNROLL
    for (std::uint32_t step = kThreads / 2; step > 0; step /= 2)
        at += ascending[at + step] <= x ? step : 0u;
    return at;
}

/// A block lists the emissions [kEmitted * block, ...). It goes over the Gaussians they belong to,
/// 256 ranks at a time, over those Gaussians' rows of tiles, a thread each, 256 at a time, and has
/// the rows' tiles written by all threads, neighbours by neighbours.
/// Project counted each slot's tiles. Should rows and counts ever disagree, tiles too many are left
/// out and emissions too many are sentinels, which no tile lists and blend backward never sees:
/// project backward must not add up their rows, which nobody wrote, so the count is lowered.
/// `kAround`: the picture repeats sideways, and rows may continue behind its seam.
template <class Key, bool kAround>
GS_DEVICE void emit_part(const EmitParams<Key>& p) {
    GS_SHARED(std::uint32_t, slots, kThreads);            // of the ranks looked at
    GS_SHARED(std::uint32_t, firsts, kThreads + 1);       // emissions theirs begin with
    GS_SHARED(std::uint32_t, rows_before, kThreads + 1);  // rows of those before each
    GS_SHARED(std::uint32_t, tiles_before, kThreads);     // by row, of those looked at
    GS_SHARED(std::uint32_t, row_at, kThreads);           // emission that a row begins with
    GS_SHARED(std::uint32_t, row_tile, kThreads);         // its first tile
    GS_SHARED(std::uint32_t, row_size, kThreads);         // and how many it has
    GS_SHARED(std::uint32_t, row_slot, kThreads);
    GS_SHARED(std::uint32_t, warps, kWarps);
    constexpr int kPasses = sizeof(Key);
    GS_SHARED(std::uint32_t, digits, kPasses * kDigits);
    GS_SHARED(std::uint32_t, next, 2);  // emission behind the rows; tiles of the last one's slot
    if (p.counts->overflow != 0) return;
    const std::uint32_t thread = threadIdx.x, begin = blockIdx.x * kEmitted;
    const std::uint32_t isects = p.counts->isects, visible = p.counts->visible;
    if (begin >= isects) return;
    const std::uint32_t end = min(begin + kEmitted, isects);
    clear_digits<kPasses>(digits);

    const int tiles_x = p.constants->tiles_x;
    const float wrap = kAround ? p.constants->wrap : 0.0f;
    std::uint32_t done = begin;
    for (std::uint32_t rank = p.rank_of_part[blockIdx.x]; done < end && rank < visible;
         rank += kThreads) {
        const std::uint32_t mine = rank + thread;
        std::uint32_t slot = 0, first = isects, rows = 0;
        if (mine < visible) {
            slot = p.slot_from_rank[mine];
            first = p.emission_of_rank[mine];
            if (first < end)
                rows = static_cast<std::uint32_t>(p.coverage[slot].y1 - p.coverage[slot].y0);
        }
        slots[thread] = slot;
        firsts[thread] = first;
        if (thread == kThreads - 1)
            firsts[kThreads] = mine + 1 < visible ? p.emission_of_rank[mine + 1] : isects;
        const BlockRank all = block_sum_before(rows, warps);
        rows_before[thread] = all.rank;
        if (thread == 0) rows_before[kThreads] = all.total;
        __syncthreads();

        std::uint32_t carried = 0;  // tiles of the first row's slot in rows before it
        for (std::uint32_t row0 = 0; row0 < all.total && done < end; row0 += kThreads) {
            const std::uint32_t row = row0 + thread, rows_here = min(all.total - row0, kThreads);
            const bool in = thread < rows_here;
            const std::uint32_t owner = last_not_above(rows_before, in ? row : 0u),
                                own_row = rows_before[owner];
            TileRange tiles{0, 0};
            int y = 0;
            if (in) {
                const Coverage& cover = p.coverage[slots[owner]];
                y = cover.y0 + static_cast<int>(row - own_row);
                tiles = row_tiles(cover, p.splats[slots[owner]], y, tiles_x, wrap);
            }
            const std::uint32_t found = static_cast<std::uint32_t>(tiles.end - tiles.first);
            const BlockRank sum = block_sum_before(found, warps);
            tiles_before[thread] = sum.rank;
            __syncthreads();
            const std::uint32_t own_end = firsts[owner + 1],
                                earlier = own_row < row0 ? carried + sum.rank
                                                         : sum.rank - tiles_before[own_row - row0],
                                at = min(firsts[owner] + earlier, own_end),
                                size = min(found, own_end - at);
            row_at[thread] = in ? at : ~0u;
            row_tile[thread] = static_cast<std::uint32_t>(y * tiles_x + tiles.first);
            row_size[thread] = size;
            row_slot[thread] = slots[owner];
            const bool last_of_slot = in && row + 1 == rows_before[owner + 1];
            if (last_of_slot && at + size < own_end)
                p.isects_of_slot[slots[owner]] = at + size - firsts[owner];
            if (thread == rows_here - 1) {
                next[0] = last_of_slot ? own_end : at + size;
                next[1] = earlier + found;
            }
            __syncthreads();
            const std::uint32_t behind = min(next[0], end);
            carried = next[1];
            for (std::uint32_t base = done; base < behind; base += kThreads) {
                const std::uint32_t i = base + thread;
                const bool listed = i < behind;
                std::uint32_t tile = 0;
                if (listed) {
                    const std::uint32_t of = last_not_above(row_at, i), in_row = i - row_at[of];
                    tile = row_tile[of] + in_row;
                    if constexpr (kAround) {
                        const std::uint32_t columns = static_cast<std::uint32_t>(tiles_x);
                        tile -= row_tile[of] % columns + in_row < columns ? 0u : columns;
                    }
                    if (in_row >= row_size[of]) tile = p.tiles;
                    put(p, i, tile, row_slot[of]);
                }
                count_digits<kPasses>(digits, tile, p.digit_bits, listed);
            }
            done = max(done, behind);  // the barriers of the next turn come before any new rows
        }
    }
    __syncthreads();
    add_digits<kPasses>(digits, p.digits);
}

template <class Key>
GS_KERNEL(kThreads, 6)
void emit(EmitParams<Key> p) {
    emit_part<Key, false>(p);
}
template <class Key>
GS_KERNEL(kThreads, 6)
void emit_around(EmitParams<Key> p) {
    emit_part<Key, true>(p);
}

template <class Key>
void run_emit_as(const Stream& stream, const FrameLimits& limits, const FrameArrays& a) {
    const int from = unsorted(limits.tile_digits());
    const EmitParams<Key> params{a.counts,
                                 a.constants,
                                 a.splats,
                                 a.coverage,
                                 a.isects_of_slot,
                                 a.slot_from_rank[1],
                                 a.emission_of_rank,
                                 a.rank_of_part,
                                 reinterpret_cast<Key*>(a.tile_keys[from]),
                                 a.payload[from],
                                 limits.gradients ? a.slot_of_emission : nullptr,
                                 a.by_tile.digits,
                                 limits.tile_digit_bits(),
                                 static_cast<std::uint32_t>(limits.tiles)};
    launch(stream, "emit", {limits.emitting_blocks(), kThreads},
           limits.wraps ? emit_around<Key> : emit<Key>, params);
}

}  // namespace

void run_emit(const Stream& stream, const FrameLimits& limits, const FrameArrays& a) {
    const CountParams params{a.counts,         a.slot_from_rank[1],
                             a.isects_of_slot, a.emission_of_rank,
                             a.rank_of_part,   limits.gradients ? a.first_emission : nullptr,
                             a.count_chain};
    launch(stream, "count", {limits.counting_blocks(), kThreads}, count, params);
    if (short_tile_keys(limits))
        run_emit_as<std::uint16_t>(stream, limits, a);
    else
        run_emit_as<std::uint32_t>(stream, limits, a);
}

}  // namespace gs::cuda
