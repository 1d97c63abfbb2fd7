// Ranges: where each tile's list begins, and the order in which tiles are blended.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/raster/cpu/frame.h"

namespace gs::cpu {
namespace {

/// Fullest tiles first, so that no thread is left with a long one at the end. Classes of an eighth
/// of an octave.
void order_tiles(CpuState& state, std::uint32_t tiles) {
    constexpr std::uint32_t kClasses = 257;
    std::uint32_t first[kClasses + 1] = {};
    const auto class_of = [&](std::uint32_t tile) {
        const std::uint32_t n = state.tile_begin[tile + 1] - state.tile_begin[tile];
        if (n == 0) return kClasses - 1;
        const std::uint32_t octave = static_cast<std::uint32_t>(std::bit_width(n)) - 1;
        const std::uint32_t fraction =
            octave >= 3 ? (n >> (octave - 3)) & 7u : (n << (3 - octave)) & 7u;
        return kClasses - 2 - (octave * 8 + fraction);
    };
    for (std::uint32_t tile = 0; tile < tiles; ++tile) ++first[class_of(tile) + 1];
    for (std::uint32_t c = 0; c < kClasses; ++c) first[c + 1] += first[c];
    state.tile_order.resize_discard(tiles);
    for (std::uint32_t tile = 0; tile < tiles; ++tile)
        state.tile_order[first[class_of(tile)]++] = tile;
}

}  // namespace

std::size_t find_ranges(CpuState& state, std::size_t parts) {
    const std::uint32_t tiles = static_cast<std::uint32_t>(state.tiles_x * state.tiles_y);
    state.tile_begin.resize_discard(tiles + 1);
    // Counts lie part by part: each loop goes along them, a stretch of tiles at a time.
    constexpr std::size_t kStretch = 512;
    std::uint32_t* const begin = state.tile_begin.data();
    parallel_ranges(tiles, kStretch, [&](std::size_t first, std::size_t end) {
        std::fill(begin + first, begin + end, 0u);
        for (std::size_t part = 0; part < parts; ++part) {
            const std::uint32_t* counts = state.part_tile_counts.data() + part * tiles;
            for (std::size_t tile = first; tile < end; ++tile) begin[tile] += counts[tile];
        }
    });
    std::uint64_t total = 0;
    for (std::uint32_t tile = 0; tile < tiles; ++tile)
        total += std::exchange(begin[tile], static_cast<std::uint32_t>(total));
    CHECK(total <= kMostIsects, "{} isects, more than were projected", total);
    begin[tiles] = static_cast<std::uint32_t>(total);
    parallel_ranges(tiles, kStretch, [&](std::size_t first, std::size_t end) {
        std::uint32_t next[kStretch];
        std::copy(begin + first, begin + end, next);
        for (std::size_t part = 0; part < parts; ++part) {
            std::uint32_t* counts = state.part_tile_counts.data() + part * tiles;
            for (std::size_t tile = first; tile < end; ++tile) {
                const std::uint32_t count = counts[tile];
                counts[tile] = next[tile - first];
                next[tile - first] += count;
            }
        }
    });
    order_tiles(state, tiles);
    return total;
}

}  // namespace gs::cpu
