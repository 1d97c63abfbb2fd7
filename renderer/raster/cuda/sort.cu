// Sort: visible Gaussians get ranks in the order of memory (compact) and are sorted by depth, four
// digits of 8 bits; later the isects they emitted are sorted by tile, stably. Whoever makes the
// keys counts their digits. Costs: compact 16 V bytes, the sorts 64 V + 24 I (16-bit keys, two
// digits).
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/digit_counts.cuh"
#include "renderer/raster/cuda/radix.cuh"
#include "renderer/raster/cuda/stages.h"

namespace gs::cuda {
namespace {

constexpr std::uint32_t kThreads = 256;
static_assert(kThreads == kChunk && kDepthDigits * kDigitBits == 32);

struct CompactParams {
    FrameCounts* counts;
    const std::uint32_t* depth_of_slot;  ///< [slot] bits of positive numbers, which order as these
    const std::uint32_t* chunk_slots;    ///< [chunks]
    const unsigned long long* isect_total;
    std::uint32_t* depth_keys;      ///< [visible_limit]
    std::uint32_t* slot_from_rank;  ///< [visible_limit]
    std::uint32_t* digits;          ///< [kDepthDigits][kDigits]
    unsigned long long* chain;
    std::uint32_t chunks, visible_limit, isect_limit;
};

/// A block per kCompactedChunks chunks.
GS_KERNEL(kThreads, 8)
void compact(CompactParams p) {
    GS_SHARED(std::uint32_t, ticket, 1);
    GS_SHARED(std::uint32_t, begin, kCompactedChunks + 1);  // first ranks of the chunks
    GS_SHARED(std::uint32_t, digits, kDepthDigits * kDigits);
    const std::uint32_t thread = threadIdx.x;
    clear_digits<kDepthDigits>(digits);
    const std::uint32_t block = take_ticket(p.chain, ticket),
                        first_chunk = block * kCompactedChunks;
    if (warp_id() == 0) {
        const std::uint32_t chunk = first_chunk + thread;
        const std::uint32_t slots =
            thread < kCompactedChunks && chunk < p.chunks ? p.chunk_slots[chunk] : 0;
        const std::uint32_t before = warp_sum_before(slots), all = warp_sum(slots);
        const std::uint32_t earlier =
            static_cast<std::uint32_t>(sum_of_earlier(p.chain, block, all));
        if (thread <= kCompactedChunks) begin[thread] = earlier + before;
        if (thread == 0 && first_chunk + kCompactedChunks >= p.chunks) {
            const unsigned long long isects = *p.isect_total;
            const std::uint32_t visible = earlier + all;
            p.counts->visible = visible;
            p.counts->isects = isects < ~0u ? static_cast<std::uint32_t>(isects) : ~0u;
            p.counts->overflow = visible > p.visible_limit || isects > p.isect_limit ? 1u : 0u;
        }
    }
    __syncthreads();
    std::uint32_t keys[kCompactedChunks];
    bool kept[kCompactedChunks];
    GS_UNROLL
    for (std::uint32_t i = 0; i < kCompactedChunks; ++i) {
        const std::uint32_t rank = begin[i] + thread;
        kept[i] = rank < begin[i + 1] && rank < p.visible_limit;
        keys[i] = kept[i] ? p.depth_of_slot[(first_chunk + i) * kThreads + thread] : 0;
    }
    GS_UNROLL
    for (std::uint32_t i = 0; i < kCompactedChunks; ++i) {
        if (kept[i]) {
            p.depth_keys[begin[i] + thread] = keys[i];
            p.slot_from_rank[begin[i] + thread] = (first_chunk + i) * kThreads + thread;
        }
        count_digits<kDepthDigits>(digits, keys[i], kDigitBits, kept[i]);
    }
    __syncthreads();
    add_digits<kDepthDigits>(digits, p.digits);
}

/// Sorts [unsorted(digits)] into [1], to and fro, by `digits` digits of `bits` bits.
template <class Key>
void sort_pairs(const Stream& stream, const char* name, const SortView& work,
                const FrameCounts* counts, const std::uint32_t* count, std::uint32_t limit,
                Key* const (&keys)[2], std::uint32_t* const (&values)[2], int digits, int bits) {
    const std::uint32_t blocks = sorting_blocks(limit);
    for (int digit = 0, from = unsorted(digits); digit < digits; ++digit, from = 1 - from) {
        const RadixParams<Key> params{
            &counts->overflow,
            count,
            keys[from],
            values[from],
            keys[1 - from],
            values[1 - from],
            work.digits + digit * kDigits,
            work.tickets + digit,
            work.chain + static_cast<std::size_t>(digit) * blocks * kDigits,
            digit * bits,
            (1u << bits) - 1u};
        launch(stream, name, {blocks, kRadixThreads}, radix_pass<Key>, params);
    }
}

}  // namespace

void run_sort_by_depth(const Stream& stream, const FrameLimits& limits, const FrameArrays& a) {
    constexpr int kUnsorted = unsorted(kDepthDigits);
    const CompactParams params{a.counts,
                               a.depth_of_slot,
                               a.chunk_slots,
                               a.isect_total,
                               a.depth_keys[kUnsorted],
                               a.slot_from_rank[kUnsorted],
                               a.by_depth.digits,
                               a.compact_chain,
                               limits.chunks(),
                               limits.visible,
                               limits.isects};
    launch(stream, "compact", {limits.compacting_blocks(), kThreads}, compact, params);
    sort_pairs(stream, "sort by depth", a.by_depth, a.counts, &a.counts->visible, limits.visible,
               a.depth_keys, a.slot_from_rank, kDepthDigits, kDigitBits);
}

void run_sort_by_tile(const Stream& stream, const FrameLimits& limits, const FrameArrays& a) {
    const auto sort = [&](auto* const(&keys)[2]) {
        sort_pairs(stream, "sort by tile", a.by_tile, a.counts, &a.counts->isects, limits.isects,
                   keys, a.payload, limits.tile_digits(), limits.tile_digit_bits());
    };
    if (!short_tile_keys(limits)) return sort(a.tile_keys);
    std::uint16_t* const keys[2] = {reinterpret_cast<std::uint16_t*>(a.tile_keys[0]),
                                    reinterpret_cast<std::uint16_t*>(a.tile_keys[1])};
    sort(keys);
}

}  // namespace gs::cuda
