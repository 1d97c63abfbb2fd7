// A frame whose isects are not listed at once: groups of its tiles, each listed and blended like a
// whole frame of which only those tiles are covered. Gradients are added up group after group, in
// the order of one pass: a slot's emissions go row by row, as groups do.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/cpu/shared_frame.h"
#include "renderer/raster/frame_size.h"

namespace gs::cpu {
namespace {

/// Calls f(slot) for all slots, those of a chunk by one thread.
template <class F>
void for_each_slot_in_use(const CpuState& state, F&& f) {
    parallel_for(state.chunks(), 1, [&](std::size_t chunk) {
        for (std::size_t i = 0; i < state.chunk_slots[chunk]; ++i) f(chunk * kSlotsPerChunk + i);
    });
}

/// Where the number of Gaussians in a tile changes along each row.
void count_changes(const CpuState& state, Buffer<std::uint32_t>& changes) {
    const auto columns = static_cast<std::uint32_t>(state.tiles_x);
    changes.resize_discard((std::size_t{columns} + 1) * static_cast<std::size_t>(state.tiles_y));
    changes.fill(0);
    for_each_slot_in_use(state, [&](std::size_t slot) {
        const Coverage& coverage = state.coverage[slot];
        const TileSpan* const spans = state.spans[slot / kSlotsPerChunk].data() + coverage.first;
        for (std::size_t row = 0; row < coverage.rows; ++row) {
            std::uint32_t* const of = changes.data() + (coverage.y0 + row) * (columns + 1);
            const auto add = [&](std::uint32_t begin, std::uint32_t end) {
                __atomic_fetch_add(of + begin, 1u, __ATOMIC_RELAXED);
                __atomic_fetch_sub(of + end, 1u, __ATOMIC_RELAXED);
            };
            const std::uint32_t end = spans[row].x1;
            add(spans[row].x0, std::min(end, columns));
            if (end > columns) add(0, end - columns);
        }
    });
}

/// Groups of at most `most` isects.
void make_groups(CpuState& state, std::uint64_t most, bool around) {
    FrameGroups& groups = state.groups;
    count_changes(state, groups.changes);
    groups.list = group_tiles(groups.changes.span(), state.tiles_x, state.tiles_y, most, around);
    groups.several = groups.list.size() > 1;
    if (!groups.several) return;
    std::swap(groups.spans, state.spans);
    std::swap(groups.coverage, state.coverage);
    if (state.spans.size() < state.chunks()) state.spans.resize(state.chunks());
    state.coverage.resize_discard(groups.coverage.size());
}

/// How many of a frame's isects are listed at once: all, where memory and 32 bits hold them.
std::uint64_t pairs_at_once(std::uint64_t isects, const RenderOptions& options,
                            const CpuState& state) {
    // slot_from_isect, and with gradients emission_from_isect, touched and isect_gradients.
    const std::uint64_t each =
        sizeof(std::uint32_t) +
        (options.gradients ? 2 * sizeof(std::uint32_t) + sizeof(IsectGradient) : 0);
    const std::uint64_t held = state.slot_from_isect.capacity_bytes() / sizeof(std::uint32_t),
                        most = options.most_pairs == 0 ? kMostIsects
                                                       : std::min(options.most_pairs, kMostIsects),
                        more = std::min(isects, most) - std::min({isects, most, held});
    if (more * each < kSmallFrame) return most;
    const std::uint64_t free = free_machine_bytes();
    if (free == 0 || more * each <= free) return most;
    return std::min(most, pairs_that_fit(free + held * each, each));
}

}  // namespace

std::size_t CpuState::bytes() const {
    std::size_t span_bytes = 0;
    for (const auto& list : spans) span_bytes += list.capacity() * sizeof(TileSpan);
    return span_bytes + candidate_blocks.capacity_bytes() + candidate_mask.capacity_bytes() +
           candidate_slot.capacity_bytes() + chunk_slots.capacity_bytes() +
           splats.capacity_bytes() + coverage.capacity_bytes() + chunk_emission.capacity_bytes() +
           depth_keys.capacity_bytes() + slot_from_rank.capacity_bytes() +
           part_tile_counts.capacity_bytes() + tile_begin.capacity_bytes() +
           tile_order.capacity_bytes() + list_end.capacity_bytes() +
           slot_from_isect.capacity_bytes() + emission_from_isect.capacity_bytes() +
           touched.capacity_bytes() + blended_pairs.capacity_bytes() +
           isect_gradients.capacity_bytes() + slot_evaluated.capacity_bytes() +
           slot_blended.capacity_bytes() + tile_warps.capacity_bytes() +
           warp_forms.capacity_bytes() + backward.bytes() + groups.bytes() + directions.bytes() +
           (shared ? shared->bytes() : 0);
}

std::size_t FrameGroups::bytes() const {
    std::size_t span_bytes = 0;
    for (const auto& of_chunk : spans) span_bytes += of_chunk.capacity() * sizeof(TileSpan);
    return span_bytes + coverage.capacity_bytes() + changes.capacity_bytes() +
           sums.capacity_bytes() + tile_evaluated.capacity_bytes() + color.values.capacity_bytes();
}

void choose_groups(CpuState& state, std::uint64_t isects, const ProjectParams& project,
                   const Camera& camera, const RenderOptions& options) {
    const std::uint64_t most = pairs_at_once(isects, options, state);
    if (isects <= most) {
        const auto tiles = static_cast<std::uint32_t>(state.tiles_x * state.tiles_y);
        state.groups.list.assign(1, {0, tiles, isects});
        state.groups.several = false;
        return;
    }
    const bool around = project.wrap > 0.0f;
    make_groups(state, most, around);
    if (!around || !options.gradients) return;
    const std::uint64_t row = fullest_cut_row(state.groups.list, state.tiles_x);
    if (row > 0) refuse_row(camera, row, most);
}

void keep_groups(CpuState& state, const TileGroup& own) {
    std::vector<TileGroup> kept;
    for (TileGroup group : state.groups.list) {
        group.first = std::max(group.first, own.first);
        group.end = std::min(group.end, own.end);
        if (group.first < group.end) kept.push_back(group);
    }
    state.groups.list = std::move(kept);
}

void enter_group(CpuState& state, const TileGroup& group) {
    const TileRange rows = group.rows(state.tiles_x), columns = group.columns(state.tiles_x);
    parallel_for(state.chunks(), 1, [&](std::size_t chunk) {
        std::vector<TileSpan>& spans = state.spans[chunk];
        spans.clear();
        std::uint32_t emission = 0;
        for (std::uint32_t i = 0; i < state.chunk_slots[chunk]; ++i) {
            const Coverage& all = state.groups.coverage[chunk * kSlotsPerChunk + i];
            const TileSpan* const from = state.groups.spans[chunk].data() + all.first;
            const int begin = std::max<int>(all.y0, rows.first),
                      end = std::min<int>(all.y0 + all.rows, rows.end);
            Coverage own{static_cast<std::uint32_t>(spans.size()),
                         static_cast<std::uint16_t>(begin), 0, 0, emission};
            for (int row = begin; row < end; ++row, ++own.rows) {
                const TileSpan span = from[row - all.y0];
                const TileRange tiles = within({span.x0, span.x1}, columns, state.tiles_x);
                spans.push_back({static_cast<std::uint16_t>(tiles.first),
                                 static_cast<std::uint16_t>(tiles.end)});
                own.isects += static_cast<std::uint32_t>(tiles.end - tiles.first);
            }
            emission += own.isects;
            state.coverage[chunk * kSlotsPerChunk + i] = own;
        }
        state.chunk_emission[chunk] = emission;
    });
    std::exclusive_scan(state.chunk_emission.begin(), state.chunk_emission.end(),
                        state.chunk_emission.begin(), 0u);
}

void add_gradients(CpuState& state) {
    for_each_slot_in_use(state, [&](std::size_t slot) {
        add_gradients(state, static_cast<std::uint32_t>(slot), state.groups.sums[slot]);
    });
}

}  // namespace gs::cpu
