// Composite: puts the partial pictures of a long tile's items together, front to back, a block per
// tile. An item was drawn as if nothing were before it; behind a transmittance T its sums count T
// times. That is exact unless the pixel ends inside the item; a product near the limit shows that:
// such a pixel is drawn again from its true T, so it ends at the very Gaussian where an unsplit
// tile would end it. A pixel ends once, so this happens once a pixel at most, and not at all in the
// first item. A median depth is found the same way: in the item within which T falls below a half.
// What was summed before each item stays in the partials: backward starts an item from there.
#include <algorithm>

#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/blend.cuh"

namespace gs::cuda {
namespace {

/// Products of up to thousands of rounded factors differ from the serial ones by less than this
/// share.
constexpr float kProductSlack = 1.001f;

/// More than any device runs at once. Most frames have few long tiles, and need not wait for blocks
/// that find none.
constexpr std::uint32_t kMostBlocks = 1024;

/// A splat as the three 16-byte loads it is.
struct LoadedSplat {
    float4 form, rest, color;  ///< x y a b; c l depth extent_x; red green blue extent_y
    GS_DEVICE Splat splat() const {
        return {form.x, form.y, form.z,  form.w,  rest.x,  rest.y,
                rest.z, rest.w, color.x, color.y, color.z, color.w};
    }
};
/// As the tile of the pixel at `pixel_x` sees it.
GS_DEVICE LoadedSplat load_splat(const BlendParams& p, std::uint32_t slot, float pixel_x,
                                 float wrap) {
    const float4* from = reinterpret_cast<const float4*>(p.splats + slot);
    LoadedSplat out{from[0], from[1], from[2]};
    out.form.x = x_for_tile(out.form.x, pixel_x, wrap);
    return out;
}

/// Where a warp keeps what of 32 splats comes near its pixels; all shared, [kWarp].
struct NearSplats {
    float4 *form, *rest, *color;
    std::uint32_t* position;  ///< within the tile; with counters
};

/// Blends the isects [first, end) into the pixels whose floor is open. A warp at a time: the next
/// 32 splats are on their way while these are blended, and the slots of those behind them.
template <Depths kDepths, bool kCounters>
GS_DEVICE void replay(const BlendParams& p, const NearSplats& list, const SubTile& sub_tile,
                      const ThreadPixel& pixel, const PixelRules& rules, float log2_alpha_min,
                      float wrap, std::uint32_t tile_first, std::uint32_t first, std::uint32_t end,
                      PixelState& s) {
    const std::uint32_t lane = static_cast<std::uint32_t>(lane_id());
    const auto slot_at = [&](std::uint32_t isect) {
        return p.slot_from_isect[min(isect, end - 1)];
    };
    LoadedSplat mine = load_splat(p, slot_at(first + lane), pixel.x, wrap);
    std::uint32_t next_slot = slot_at(first + kWarp + lane);
    for (std::uint32_t base = first; base < end; base += kWarp) {
        if (__all_sync(kAllLanes, s.floor >= kEndedFloor) != 0) return;
        const LoadedSplat next = load_splat(p, next_slot, pixel.x, wrap);
        next_slot = slot_at(base + 2 * kWarp + lane);
        const bool near = base + lane < end && reaches(sub_tile, mine.splat(), log2_alpha_min);
        const unsigned bits = __ballot_sync(kAllLanes, near);
        const int place = __popc(bits & ((1u << lane) - 1u)), count = __popc(bits);
        if (near) {
            list.form[place] = mine.form;
            list.rest[place] = mine.rest;
            list.color[place] = mine.color;
            if constexpr (kCounters) list.position[place] = base - tile_first + lane;
        }
        __syncwarp();
        GS_UNROLL
        for (int i = 0; i < count; ++i) {
            const Splat splat = LoadedSplat{list.form[i], list.rest[i], list.color[i]}.splat();
            const float power = log2_alpha(splat, pixel.x - splat.x, pixel.y - splat.y);
            blend_into<kDepths, kCounters>(s, power, splat.red, splat.green, splat.blue,
                                           splat.depth, rules, kCounters ? list.position[i] : 0u);
        }
        __syncwarp();
        mine = next;
    }
}

template <Depths kDepths, bool kCounters>
GS_DEVICE PixelState composite_tile(const BlendParams& p, const FrameConstants& c,
                                    std::uint32_t tile, const ThreadPixel& pixel,
                                    const NearSplats& list) {
    const std::uint32_t tile_first = p.tile_begin[tile], tile_last = p.tile_begin[tile + 1];
    const WorkItem last = p.items[tile];
    const SubTile sub_tile = sub_tile_of(c, tile, warp_id());
    const PixelRules rules = pixel_rules(c);
    PixelState s = start_of(pixel, c, tile_last - tile_first);
    for (std::uint32_t i = 0; i <= last.index; ++i) {
        const std::uint32_t partial = last.partial - last.index + i;
        const std::uint32_t first = tile_first + i * p.item_isects,
                            end = min(first + p.item_isects, tile_last);
        float* at = p.partials + partial_at(partial, pixel);
        const float red = at[0], green = at[kTilePixels], blue = at[2 * kTilePixels],
                    t = at[3 * kTilePixels];
        const float depth = kDepths != Depths::none ? at[4 * kTilePixels] : 0.0f;
        const bool running = s.floor < kEndedFloor;
        at[0] = s.red;
        at[kTilePixels] = s.green;
        at[2 * kTilePixels] = s.blue;
        at[3 * kTilePixels] = running ? s.t : 0.0f;
        if constexpr (kDepths != Depths::none) at[4 * kTilePixels] = s.depth;

        // With T = 1 the item was drawn as it is, and its own end is the pixel's.
        const bool ends_within = t < 0.0f || s.t * t <= rules.transmittance_min * kProductSlack;
        bool again = running && ends_within && (s.t < 1.0f || kCounters);
        // Which of the item's Gaussians brings T below one half is not kept with its sums.
        if constexpr (kDepths == Depths::with_median)
            again |=
                running && s.t >= kMedianTransmittance && s.t * fabsf(t) < kMedianTransmittance;
        if (running && !again) {
            s.red = fmaf(s.t, red, s.red);
            s.green = fmaf(s.t, green, s.green);
            s.blue = fmaf(s.t, blue, s.blue);
            if constexpr (kDepths != Depths::none) s.depth = fmaf(s.t, depth, s.depth);
            s.t *= fabsf(t);
            if (t < 0.0f) s.floor = kEndedFloor;
            if constexpr (kCounters)
                s.contributors +=
                    p.partial_contributors[static_cast<std::size_t>(partial) * kTilePixels +
                                           static_cast<std::size_t>(pixel.in_tile)];
        }
        if (__any_sync(kAllLanes, again) == 0) continue;
        const float floor = s.floor;
        if (!again) s.floor = kEndedFloor;  // looks on
        replay<kDepths, kCounters>(p, list, sub_tile, pixel, rules, c.log2_alpha_min, c.wrap,
                                   tile_first, first, end, s);
        if (!again) s.floor = floor;
    }
    return s;
}

/// kMostBlocks or fewer, which share the tiles.
template <Depths kDepths, bool kCounters>
GS_KERNEL(kBlendThreads, 4)
void composite(BlendParams p) {
    GS_SHARED(float4, near, 3 * kBlendThreads);
    GS_SHARED(std::uint32_t, positions, kCounters ? kBlendThreads : 1);
    GS_SHARED(std::uint32_t, tile_end, 1);
    if (p.counts->overflow != 0) return;
    const FrameConstants& c = *p.constants;
    const int of_warp = warp_id() * kWarp;
    const NearSplats list{&near[of_warp], &near[kBlendThreads + of_warp],
                          &near[2 * kBlendThreads + of_warp], &positions[kCounters ? of_warp : 0]};
    const std::uint32_t long_tiles = p.counts->long_tiles;
    for (std::uint32_t i = blockIdx.x; i < long_tiles; i += gridDim.x) {
        const std::uint32_t tile = p.long_tiles[i];
        const ThreadPixel pixel = thread_pixel(c, tile);
        const PixelState s = composite_tile<kDepths, kCounters>(p, c, tile, pixel, list);
        finish<kDepths, kCounters>(p, c, pixel, s);
        if constexpr (kCounters) count_tile(p, s, pixel, tile, tile_end);
    }
}

}  // namespace

void run_composite(const Stream& stream, const FrameLimits& limits, const BlendParams& params) {
    using Kernel = void (*)(BlendParams);
    static constexpr Kernel kernels[][2] = {
        {composite<Depths::none, false>, composite<Depths::none, true>},
        {composite<Depths::expected, false>, composite<Depths::expected, true>},
        {composite<Depths::with_median, false>, composite<Depths::with_median, true>}};
    launch(stream, "composite", {std::min(limits.max_long_tiles(), kMostBlocks), kBlendThreads},
           kernels[depths_of(limits)][limits.counters], params);
}

}  // namespace gs::cuda
