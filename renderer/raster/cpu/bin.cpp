// Sort: visible Gaussians front to back, then a stable counting sort of their tiles, so every
// tile's list is front to back.
#include <algorithm>
#include <bit>
#include <numeric>

#include "base/check.h"
#include "base/parallel.h"
#include "renderer/raster/cpu/frame.h"

namespace gs::cpu {
namespace {

/// Calls f(tile) for every tile of a slot, row by row: the order of its emissions.
template <class F>
void for_each_tile(const CpuState& state, std::uint32_t slot, F&& f) {
    const Coverage& coverage = state.coverage[slot];
    const TileSpan* spans = state.spans[slot / kSlotsPerChunk].data() + coverage.first;
    for (std::uint32_t row = 0; row < coverage.rows; ++row) {
        const std::uint32_t base = (coverage.y0 + row) * static_cast<std::uint32_t>(state.tiles_x);
        for (std::uint32_t x = spans[row].x0; x < spans[row].x1; ++x) f(base + x);
    }
}

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

void sort_by_depth(CpuState& state) {
    const std::size_t chunks = state.chunks();
    std::size_t visible = 0;
    std::vector<std::size_t> first(chunks);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        first[chunk] = visible;
        visible += state.chunk_slots[chunk];
    }
    state.depth_keys.resize_discard(visible);
    state.slot_from_rank.resize_discard(visible);
    parallel_for(chunks, 4, [&](std::size_t chunk) {
        for (std::uint32_t i = 0; i < state.chunk_slots[chunk]; ++i) {
            const std::uint32_t slot = static_cast<std::uint32_t>(chunk * kSlotsPerChunk) + i;
            // Depths are positive, so their bits order as they do.
            state.depth_keys[first[chunk] + i] =
                std::bit_cast<std::uint32_t>(state.splats[slot].depth);
            state.slot_from_rank[first[chunk] + i] = slot;
        }
    });
    state.sorter.sort(state.depth_keys, state.slot_from_rank);
}

void bin_into_tiles(CpuState& state, bool gradients) {
    const std::size_t visible = state.slot_from_rank.size();
    const std::uint32_t tiles = static_cast<std::uint32_t>(state.tiles_x * state.tiles_y);
    const std::size_t parts = std::clamp<std::size_t>(visible / 2048, 1, 64),
                      part_size = (visible + parts - 1) / parts;
    const auto ranks_of = [&](std::size_t part) {
        return std::pair{std::min(visible, part * part_size),
                         std::min(visible, (part + 1) * part_size)};
    };

    // Count each part's isects per tile.
    state.part_tile_counts.resize_discard(parts * tiles);
    state.first_emission.resize_discard(state.splats.size());
    std::vector<std::uint32_t> part_isects(parts, 0);
    parallel_for(parts, 1, [&](std::size_t part) {
        std::uint32_t* counts = state.part_tile_counts.data() + part * tiles;
        std::fill_n(counts, tiles, 0u);
        const auto [begin, end] = ranks_of(part);
        std::uint32_t emission = 0;
        for (std::size_t rank = begin; rank < end; ++rank) {
            const std::uint32_t slot = state.slot_from_rank[rank];
            state.first_emission[slot] = emission;  // within the part, for now
            emission += state.isects_of_slot[slot];
            for_each_tile(state, slot, [&](std::uint32_t tile) { ++counts[tile]; });
        }
        part_isects[part] = emission;
    });

    // First isect of each tile, and of each part within it.
    state.tile_begin.resize_discard(tiles + 1);
    std::uint64_t total = 0;
    for (std::uint32_t tile = 0; tile < tiles; ++tile) {
        state.tile_begin[tile] = static_cast<std::uint32_t>(total);
        for (std::size_t part = 0; part < parts; ++part) {
            std::uint32_t& count = state.part_tile_counts[part * tiles + tile];
            total += std::exchange(count, static_cast<std::uint32_t>(total));
        }
    }
    CHECK(total < (1ull << 32), "{} isects do not fit 32-bit indices", total);
    state.tile_begin[tiles] = static_cast<std::uint32_t>(total);
    order_tiles(state, tiles);

    // Scatter, in depth order within each tile.
    std::exclusive_scan(part_isects.begin(), part_isects.end(), part_isects.begin(), 0u);
    state.slot_from_isect.resize_discard(total);
    if (gradients) state.isect_from_emission.resize_discard(total);
    parallel_for(parts, 1, [&](std::size_t part) {
        std::uint32_t* next = state.part_tile_counts.data() + part * tiles;
        const auto [begin, end] = ranks_of(part);
        std::uint32_t emission = part_isects[part];
        for (std::size_t rank = begin; rank < end; ++rank) {
            const std::uint32_t slot = state.slot_from_rank[rank];
            state.first_emission[slot] += part_isects[part];
            for_each_tile(state, slot, [&](std::uint32_t tile) {
                const std::uint32_t isect = next[tile]++;
                state.slot_from_isect[isect] = slot;
                if (gradients) state.isect_from_emission[emission] = isect;
                ++emission;
            });
        }
    });
}

}  // namespace gs::cpu
