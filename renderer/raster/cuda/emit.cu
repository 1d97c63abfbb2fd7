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
    std::uint32_t* slot_of_emission;        ///< [isects], where payload is the emission
    std::uint32_t of_emission;              ///< ~0: it is; 0: payload is the slot
    std::uint32_t* digits;                  ///< [digit][kDigits] how often each comes
    int digit_bits;
    std::uint32_t tiles;
};

/// Behind the last emission of the Gaussian of this rank.
template <class Key>
GS_DEVICE std::uint32_t end_of_rank(const EmitParams<Key>& p, std::uint32_t rank) {
    return rank + 1 < p.counts->visible ? p.emission_of_rank[rank + 1] : p.counts->isects;
}

/// Emissions in a row that list tiles side by side: emission e lists tile e + `ahead` (modulo
/// 2^32).
struct Run {
    std::uint32_t ahead, slot;
};
/// The runs of a block, each at the place of its first emission in the block, where a bit of
/// `heads` says so.
struct Runs {
    Run* runs;             ///< shared, [kEmitted]
    std::uint32_t* heads;  ///< shared, [kEmitted / 32]
    std::uint32_t begin;   ///< the block's first emission

    /// Emissions [first, first + tiles), but not from `end` on, list `tile` and those behind it.
    GS_DEVICE void put(std::uint32_t first, std::uint32_t tiles, std::uint32_t end,
                       std::uint32_t tile, std::uint32_t slot) const {
        const std::uint32_t from = max(first, begin);
        if (from >= min(first + tiles, end)) return;
        const std::uint32_t at = from - begin;
        runs[at] = {tile - first, slot};
        atomicOr(&heads[at / kWarp], 1u << at % kWarp);
    }
};

/// The tiles of a box, a bit each, row by row, where at most 32 say all; else 0.
GS_DEVICE std::uint32_t tile_bits(const Coverage& c) {
    const std::uint32_t box = static_cast<std::uint32_t>((c.x1 - c.x0) * (c.y1 - c.y0));
    return c.exact != 0 ? c.mask : box <= 32 ? low_bits(box) : 0;
}

/// The runs of a Gaussian of any size, by a warp: a row a lane. Should its rows have fewer tiles
/// than project counted, the emissions left over are sentinels, and the count is lowered.
template <class Key, bool kAround>
GS_DEVICE void put_rows(const EmitParams<Key>& p, const Runs& runs, std::uint32_t rank,
                        std::uint32_t end) {
    const std::uint32_t slot = p.slot_from_rank[rank], first = p.emission_of_rank[rank],
                        own_end = end_of_rank(p, rank), limit = min(own_end, end);
    const int tiles_x = p.constants->tiles_x, lane = lane_id();
    const float wrap = kAround ? p.constants->wrap : 0.0f;
    const Coverage cover = p.coverage[slot];
    std::uint32_t at = first;
    for (int y0 = cover.y0; y0 < cover.y1 && at < limit; y0 += kWarp) {
        const int y = y0 + lane;
        TileRange tiles{0, 0};
        if (y < cover.y1) tiles = row_tiles(cover, p.splats[slot], y, tiles_x, wrap);
        const std::uint32_t found = static_cast<std::uint32_t>(tiles.end - tiles.first),
                            before = warp_sum_before(found),
                            row = static_cast<std::uint32_t>(y * tiles_x);
        // What is behind the seam begins the row.
        const std::uint32_t here =
            kAround ? min(found, static_cast<std::uint32_t>(tiles_x - tiles.first)) : found;
        runs.put(at + before, here, limit, row + static_cast<std::uint32_t>(tiles.first), slot);
        if constexpr (kAround) runs.put(at + before + here, found - here, limit, row, slot);
        at += __shfl_sync(kAllLanes, before + found, kWarp - 1);
    }
    if (lane != 0 || at >= limit) return;
    runs.put(at, limit - at, limit, p.tiles, slot);
    if (own_end == limit) p.isects_of_slot[slot] = at - first;
}

/// The runs of all Gaussians that the emissions [begin, end) belong to: of one with tile_bits() by
/// a thread.
template <class Key, bool kAround, class Ranks>
GS_DEVICE void put_all(const EmitParams<Key>& p, const Runs& runs, std::uint32_t end, Ranks& others,
                       std::uint32_t& count) {
    const std::uint32_t first_rank = p.rank_of_part[blockIdx.x], visible = p.counts->visible,
                        tiles_x = static_cast<std::uint32_t>(p.constants->tiles_x);
    for (std::uint32_t rank = first_rank + threadIdx.x; rank < visible; rank += kThreads) {
        const std::uint32_t slot = p.slot_from_rank[rank], own_end = end_of_rank(p, rank);
        std::uint32_t at = p.emission_of_rank[rank];
        if (at >= end) break;
        if (at == own_end) continue;  // it has no tile in the group that is drawn
        const Coverage cover = p.coverage[slot];
        std::uint32_t bits = tile_bits(cover);
        const bool all = static_cast<std::uint32_t>(__popc(bits)) == own_end - at;
        if (!all || (kAround && cover.x1 > tiles_x)) {
            others[atomicAdd(&count, 1u)] = rank;
            continue;
        }
        const std::uint32_t width = static_cast<std::uint32_t>(cover.x1 - cover.x0);
        std::uint32_t row = cover.y0 * tiles_x + cover.x0;
        for (; bits != 0; bits = bits >> (width - 1) >> 1, row += tiles_x) {
            const std::uint32_t of_row = bits & low_bits(width),
                                found = static_cast<std::uint32_t>(__popc(of_row));
            const std::uint32_t column =
                static_cast<std::uint32_t>(__ffs(static_cast<int>(of_row))) - 1;
            runs.put(at, found, end, row + column, slot);
            at += found;
        }
    }
    __syncthreads();
    for (std::uint32_t i = static_cast<std::uint32_t>(warp_id()); i < count; i += kWarps)
        put_rows<Key, kAround>(p, runs, others[i], end);
}

/// The place of the last bit, or 0.
GS_DEVICE std::uint32_t last_bit(std::uint32_t bits) {
    return 31u - static_cast<std::uint32_t>(__clz(static_cast<int>(bits | 1u)));
}

/// A block lists the emissions [kEmitted * block, ...): its threads put down the runs of the
/// Gaussians they belong to, then each emission finds its own.
/// Project counted each slot's tiles. Should rows and counts ever disagree, tiles too many are left
/// out and emissions too many are sentinels, which no tile lists and blend backward never sees:
/// project backward must not add up their rows, which nobody wrote, so the count is lowered.
/// `kAround`: the picture repeats sideways, and rows may continue behind its seam.
template <class Key, bool kAround>
GS_DEVICE void emit_part(const EmitParams<Key>& p) {
    constexpr int kPasses = sizeof(Key);
    GS_SHARED(Run, runs, kEmitted);
    GS_SHARED(std::uint32_t, heads, kEmitted / kWarp);
    GS_SHARED(std::uint32_t, others, kEmitted);  // ranks that warps take
    GS_SHARED(std::uint32_t, count, 1);          // of these
    GS_SHARED(std::uint32_t, digits, kPasses * kDigits);
    static_assert(kEmitted == kWarp * kWarp, "a word of heads a lane");
    if (p.counts->overflow != 0) return;
    const std::uint32_t begin = blockIdx.x * kEmitted, isects = p.counts->isects;
    if (begin >= isects) return;
    const std::uint32_t end = min(begin + kEmitted, isects);
    clear_digits<kPasses>(digits);
    if (threadIdx.x < kWarp) heads[threadIdx.x] = 0;
    if (threadIdx.x == 0) count[0] = 0;
    __syncthreads();
    put_all<Key, kAround>(p, {&runs[0], &heads[0], begin}, end, others, count[0]);
    __syncthreads();

    const std::uint32_t lane = static_cast<std::uint32_t>(lane_id()), head_bits = heads[lane];
    const std::uint32_t last_head =
        warp_max_up_to(head_bits != 0 ? lane * kWarp + last_bit(head_bits) : 0u);
    std::uint32_t slots[kEmitted / kThreads];
    GS_UNROLL
    for (std::uint32_t i = 0; i < kEmitted / kThreads; ++i) {
        const std::uint32_t word = i * kWarps + static_cast<std::uint32_t>(warp_id()),
                            emission = begin + word * kWarp + lane;
        const std::uint32_t bits = __shfl_sync(kAllLanes, head_bits, static_cast<int>(word)) &
                                   ((2u << lane) - 1u),
                            before = __shfl_sync(kAllLanes, last_head,
                                                 static_cast<int>(max(word, 1u) - 1));
        const Run run = runs[bits != 0 ? word * kWarp + last_bit(bits) : before];
        const bool listed = emission < end;
        const std::uint32_t tile = min(emission + run.ahead, p.tiles);
        count_digits<kPasses>(digits, tile, p.digit_bits, listed);
        if (listed) {
            p.tile_keys[emission] = static_cast<Key>(tile);
            p.payload[emission] = (run.slot & ~p.of_emission) | (emission & p.of_emission);
        }
        slots[i] = run.slot;
    }
    __syncthreads();
    add_digits<kPasses>(digits, p.digits);
    if (p.of_emission == 0) return;
    GS_UNROLL
    for (std::uint32_t i = 0; i < kEmitted / kThreads; ++i) {
        const std::uint32_t emission = begin + i * kThreads + threadIdx.x;
        if (emission < end) p.slot_of_emission[emission] = slots[i];
    }
}

template <class Key>
GS_KERNEL(kThreads, 5)
void emit(EmitParams<Key> p) {
    emit_part<Key, false>(p);
}
template <class Key>
GS_KERNEL(kThreads, 5)
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
                                 a.slot_of_emission,
                                 limits.gradients ? ~0u : 0u,
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
