// Emit: a stable counting sort of the visible Gaussians' tiles, in depth order, so every tile's
// list is front to back.
#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "renderer/raster/cpu/frame.h"

namespace gs::cpu {
namespace {

const TileSpan* spans_of(const CpuState& state, std::uint32_t slot) {
    return state.spans[slot / kSlotsPerChunk].data() + state.coverage[slot].first;
}

/// Calls f(tile) for every tile of a slot, row by row: the order of its emissions. A span that ends
/// behind the last column continues from the first.
template <class F>
void for_each_tile(const CpuState& state, std::uint32_t slot, F&& f) {
    const Coverage& coverage = state.coverage[slot];
    const TileSpan* spans = spans_of(state, slot);
    for (std::uint32_t row = 0; row < coverage.rows; ++row) {
        const std::uint32_t columns = static_cast<std::uint32_t>(state.tiles_x),
                            base = (coverage.y0 + row) * columns;
        const std::uint32_t end = spans[row].x1;
        for (std::uint32_t x = spans[row].x0; x < std::min(end, columns); ++x) f(base + x);
        for (std::uint32_t x = columns; x < end; ++x) f(base + x - columns);
    }
}

/// Calls f(slot) for ranks [begin, end). Slots front to back lie all over the memory, so what they
/// cover is fetched ahead: first where the spans are, then the spans.
template <class F>
void for_each_slot(const CpuState& state, std::size_t begin, std::size_t end, F&& f) {
    constexpr std::size_t kCoverageAhead = 24, kSpansAhead = 12;
    const auto slot_at = [&](std::size_t rank) {
        return state.slot_from_rank[std::min(rank, end - 1)];
    };
    for (std::size_t rank = begin; rank < end; ++rank) {
        __builtin_prefetch(&state.coverage[slot_at(rank + kCoverageAhead)]);
        __builtin_prefetch(spans_of(state, slot_at(rank + kSpansAhead)));
        f(state.slot_from_rank[rank]);
    }
}

}  // namespace

void emit_isects(CpuState& state, bool gradients) {
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
    parallel_for(parts, 1, [&](std::size_t part) {
        std::uint32_t* counts = state.part_tile_counts.data() + part * tiles;
        std::fill_n(counts, tiles, 0u);
        const auto [begin, end] = ranks_of(part);
        for_each_slot(state, begin, end, [&](std::uint32_t slot) {
            for_each_tile(state, slot, [&](std::uint32_t tile) { ++counts[tile]; });
        });
    });

    const std::size_t total = find_ranges(state, parts);

    // Scatter, in depth order within each tile.
    state.slot_from_isect.resize_discard(total);
    if (gradients) state.emission_from_isect.resize_discard(total);
    parallel_for(parts, 1, [&](std::size_t part) {
        std::uint32_t* next = state.part_tile_counts.data() + part * tiles;
        const auto [begin, end] = ranks_of(part);
        for_each_slot(state, begin, end, [&](std::uint32_t slot) {
            std::uint32_t emission =
                state.chunk_emission[slot / kSlotsPerChunk] + state.coverage[slot].emission;
            for_each_tile(state, slot, [&](std::uint32_t tile) {
                const std::uint32_t isect = next[tile]++;
                state.slot_from_isect[isect] = slot;
                if (gradients) state.emission_from_isect[isect] = emission;
                ++emission;
            });
        });
    });
}

}  // namespace gs::cpu
