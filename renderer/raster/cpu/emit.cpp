// Emit: a stable counting sort of the visible Gaussians' tiles, in depth order, so every tile's
// list is front to back.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

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

    const std::size_t total = find_ranges(state, parts);

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
