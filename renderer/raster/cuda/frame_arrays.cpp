// Which arrays a frame has, for given limits: the one place that sizes them.
#include "renderer/raster/cuda/frame_arrays.h"

namespace gs::cuda {
namespace {

/// Adds up what would be taken.
struct Sizer {
    std::size_t bytes = 0;
    template <class T>
    void operator()(T*&, std::size_t count) {
        bytes += Arena::bytes_of<T>(count);
    }
};
struct Taker {
    Arena& arena;
    template <class T>
    void operator()(T*& to, std::size_t count) {
        to = arena.take<T>(count);
    }
};

/// 32-bit words that `isects` tile keys need.
std::size_t key_words(const FrameLimits& limits) {
    return limits.tiles <= 65535 ? (static_cast<std::size_t>(limits.isects) + 1) / 2
                                 : limits.isects;
}

template <class Take>
void each_array(const FrameLimits& limits, FrameArrays& a, Take&& take) {
    const std::size_t slots = static_cast<std::size_t>(limits.chunks()) * kChunk,
                      isects = limits.isects;
    const std::size_t tiles = static_cast<std::size_t>(limits.tiles),
                      pixels = static_cast<std::size_t>(limits.width) *
                               static_cast<std::size_t>(limits.height);
    take(a.constants, 1);
    take(a.counts, 1);  // and what is filled with it, next to it
    take(a.isect_total, 1);
    take(a.compact_chain, 1 + limits.compacting_blocks());
    const auto take_sort = [&](SortView& sort, int passes, std::uint32_t room) {
        const auto n = static_cast<std::size_t>(passes);
        take(sort.digits, kMostDigits * kDigits);
        take(sort.tickets, n);
        take(sort.chain, n * kDigits * sorting_blocks(room));
    };
    take_sort(a.by_depth, kDepthDigits, limits.visible);
    take(a.count_chain, 1 + limits.counting_blocks());  // and what lists are made with, next to it
    take_sort(a.by_tile, limits.tile_digits(), limits.isects);
    take(a.splats, slots);
    take(a.coverage, slots);
    take(a.depth_of_slot, slots);
    take(a.gaussian_from_slot, slots);
    take(a.isects_of_slot, slots);
    take(a.first_emission, slots);
    take(a.chunk_slots, limits.chunks());
    for (int i = 0; i < 2; ++i) {
        take(a.depth_keys[i], limits.visible);
        take(a.slot_from_rank[i], limits.visible);
        take(a.tile_keys[i], key_words(limits));
        take(a.payload[i], isects);
    }
    take(a.emission_of_rank, limits.visible);
    take(a.rank_of_part, limits.emitting_blocks());
    take(a.tile_begin, tiles + 1);
    take(a.order_counts, (tiles + 255) / 256 * kOrderCounts);
    take(a.items, limits.max_items());
    take(a.item_order, limits.max_items());
    take(a.long_tiles, limits.max_long_tiles());
    take(a.partials,
         static_cast<std::size_t>(limits.max_partials()) * kPartialPlanes * kTilePixels);
    if (limits.counters)
        take(a.partial_contributors, static_cast<std::size_t>(limits.max_partials()) * kTilePixels);
    if (!limits.gradients) return;
    take(a.slot_of_emission, isects);
    take(a.slot_from_isect, isects);
    take(a.final_transmittance, pixels);
    take(a.contributed, (isects / 32 + tiles + 1) * kSubTiles);
    take(a.isect_gradients, isects);
    take(a.live_rows, isects / 32 + 2);  // two words are read at a time
}

}  // namespace

std::size_t frame_bytes(const FrameLimits& limits) {
    FrameArrays none{};
    Sizer sizer;
    each_array(limits, none, sizer);
    return sizer.bytes;
}

FrameArrays carve_frame(const FrameLimits& limits, Arena& arena) {
    FrameArrays arrays{};
    each_array(limits, arrays, Taker{arena});
    if (!limits.gradients) arrays.slot_from_isect = arrays.payload[1];
    return arrays;
}

}  // namespace gs::cuda
