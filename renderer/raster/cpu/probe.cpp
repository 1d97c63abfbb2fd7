// What a frame consisted of, for those who explain a pixel.
#include <bit>

#include "base/check.h"
#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/frame_probe.h"

namespace gs::cpu {

bool probe_frame(const CpuState& state, FrameProbe& out) {
    // The lists are those of the last group, or of a part of the picture.
    if (state.groups.several || state.shared) return false;
    const std::size_t visible = state.slot_from_rank.size();
    out.rows.resize_discard(visible);
    out.splats.resize_discard(visible * kSplatPlanes);
    Buffer<std::uint32_t> row_of_slot(state.splats.size());
    std::size_t i = 0;
    for (std::size_t candidate = 0; candidate < state.candidate_blocks.size(); ++candidate) {
        std::uint32_t slot = state.candidate_slot[candidate];
        for (std::uint32_t lanes = state.candidate_mask[candidate]; lanes != 0;
             lanes &= lanes - 1, ++slot, ++i) {
            const auto row =
                static_cast<std::uint32_t>(state.candidate_blocks[candidate] * kBlock) +
                static_cast<std::uint32_t>(std::countr_zero(lanes));
            const Splat& s = state.splats[slot];
            const float planes[kSplatPlanes] = {
                s.x, s.y,   s.s * s.s, 2.0f * s.s * s.r, s.r * s.r + s.w * s.w,
                s.l, s.red, s.green,   s.blue,           s.depth};
            row_of_slot[slot] = out.rows[i] = row;
            for (std::size_t p = 0; p < kSplatPlanes; ++p) out.splats[p * visible + i] = planes[p];
        }
    }
    CHECK(i == visible, "{} Gaussians in blocks, {} sorted", i, visible);
    out.tile_begin = state.tile_begin;
    out.row_from_isect.resize_discard(state.slot_from_isect.size());
    for (std::size_t k = 0; k < state.slot_from_isect.size(); ++k)
        out.row_from_isect[k] = row_of_slot[state.slot_from_isect[k]];
    return true;
}

}  // namespace gs::cpu
