// Sort: the visible Gaussians of all chunks, front to back.
#include <bit>
#include <vector>

#include "base/parallel.h"
#include "renderer/raster/cpu/frame.h"

namespace gs::cpu {

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

}  // namespace gs::cpu
