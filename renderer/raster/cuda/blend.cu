// Blend: a block of 256 threads draws one work item, a warp an 8 x 4 sub-tile of its tile, a lane a
// pixel. Splats come through shared memory 256 at a time (48 bytes each, gathered; the 48 V bytes
// of records stay in the second-level cache). Of each 32 of them a lane tests one against the
// warp's rectangle, exactly, and the warp then walks the bits that are set: some 20 instructions a
// pixel and splat, two 16-byte broadcasts from shared memory, and one more with the colour when
// anything is open. So what binds is the instruction rate, and the sub-tile test is what keeps the
// pairs few.
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/blend.cuh"

namespace gs::cuda {
namespace {

inline constexpr int kBatch = kBlendThreads;  ///< splats in shared memory, one a thread

/// The batch in shared memory: three arrays, so that 32 lanes reading 32 splats meet no bank
/// conflict.
template <class Shared>
GS_DEVICE Splat form_at(const Shared& form, const Shared& rest, int i) {
    const float4 u = form[i], v = rest[i];
    return {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w, 0.0f, 0.0f, 0.0f, 0.0f};
}

/// The item alone, for composite: its sums, its transmittance, negative where a pixel ended within
/// it.
template <Depths kDepths, bool kCounters>
GS_DEVICE void store_partial(const BlendParams& p, std::uint32_t partial, const ThreadPixel& pixel,
                             const PixelState& s) {
    float* to = p.partials + partial_at(partial, pixel);
    to[0] = s.red;
    to[kTilePixels] = s.green;
    to[2 * kTilePixels] = s.blue;
    to[3 * kTilePixels] = s.floor >= kEndedFloor ? -s.t : s.t;
    if constexpr (kDepths != Depths::none) to[4 * kTilePixels] = s.depth;
    if constexpr (kCounters)
        p.partial_contributors[static_cast<std::size_t>(partial) * kTilePixels +
                               static_cast<std::size_t>(pixel.in_tile)] =
            static_cast<std::uint16_t>(s.contributors);
}

/// What one warp spent on one splat.
GS_DEVICE void count_splat(const BlendParams& p, std::uint32_t isect, unsigned inside,
                           unsigned drawn) {
    const std::uint32_t row = p.gaussian_from_slot[p.slot_from_isect[isect]];
    atomicAdd(&p.picture.costs.evaluated[row], static_cast<std::uint32_t>(__popc(inside)));
    if (drawn != 0)
        atomicAdd(&p.picture.costs.blended[row], static_cast<std::uint32_t>(__popc(drawn)));
}

template <Depths kDepths, bool kCounters, bool kGradients, Measured kMeasured = Measured::nothing>
GS_KERNEL(kBlendThreads, 5)
void blend(BlendParams p) {
    GS_SHARED(float4, form, kBatch);    // x y a b
    GS_SHARED(float4, rest, kBatch);    // c l depth extent_x
    GS_SHARED(float4, colors, kBatch);  // red green blue extent_y
    GS_SHARED(std::uint32_t, tile_end, 1);
    if (p.counts->overflow != 0 || blockIdx.x >= p.counts->items) return;
    [[maybe_unused]] const long long begin = kMeasured == Measured::time ? clock64() : 0;
    const FrameConstants& c = *p.constants;
    const WorkItem item = p.items[p.item_order[blockIdx.x]];
    const std::uint32_t thread = threadIdx.x, tile_first = p.tile_begin[item.tile];
    const int lane = lane_id(), warp = warp_id();
    const ThreadPixel pixel = thread_pixel(c, item.tile);
    const SubTile sub_tile = sub_tile_of(c, item.tile, warp);
    const PixelRules rules = pixel_rules(c);
    PixelState s = start_of(pixel, c, p.tile_begin[item.tile + 1] - tile_first);
    std::uint32_t evaluated = 0;

    std::uint32_t base = item.first;
    for (; base < item.end; base += kBatch) {
        // Also keeps the batch until every warp has left it.
        if (__syncthreads_and(s.floor >= kEndedFloor) != 0) break;
        if (base + thread < item.end) {
            const float4* from =
                reinterpret_cast<const float4*>(p.splats + p.slot_from_isect[base + thread]);
            form[thread] = from[0];
            rest[thread] = from[1];
            colors[thread] = from[2];
        }
        __syncthreads();
        const int staged =
            static_cast<int>(min(item.end - base, static_cast<std::uint32_t>(kBatch)));
        for (int group = 0; group * kWarp < staged; ++group) {
            std::uint32_t touched = 0;
            if (__all_sync(kAllLanes, s.floor >= kEndedFloor) == 0) {
                const int mine = group * kWarp + lane;
                const bool near =
                    mine < staged && reaches(sub_tile, form_at(form, rest, mine), c.log2_alpha_min);
                for (unsigned bits = __ballot_sync(kAllLanes, near); bits != 0; bits &= bits - 1) {
                    const int i = group * kWarp + __ffs(static_cast<int>(bits)) - 1;
                    const Splat splat = form_at(form, rest, i);
                    const float power = log2_alpha(splat, pixel.x - splat.x, pixel.y - splat.y);
                    const bool open = power >= s.floor;
                    if constexpr (kGradients)
                        if (__any_sync(kAllLanes, open) != 0) touched |= bits & (0u - bits);
                    if constexpr (kCounters) evaluated += pixel.inside ? 1u : 0u;
                    if (kMeasured != Measured::pairs && !open) continue;
                    [[maybe_unused]] const std::uint32_t before = s.contributors;
                    if (open) {
                        const float4 color = colors[i];
                        blend_into<kDepths, kCounters>(
                            s, power, color.x, color.y, color.z, splat.depth, rules,
                            base - tile_first + static_cast<std::uint32_t>(i));
                    }
                    if constexpr (kMeasured == Measured::pairs) {
                        const unsigned inside = __ballot_sync(kAllLanes, pixel.inside),
                                       drawn = __ballot_sync(kAllLanes, s.contributors != before);
                        if (lane == 0)
                            count_splat(p, base + static_cast<std::uint32_t>(i), inside, drawn);
                    }
                }
            }
            if constexpr (kGradients)
                if (lane == 0)
                    p.contributed[contributed_word(item.tile, tile_first,
                                                   base + static_cast<std::uint32_t>(group * kWarp),
                                                   warp)] = touched;
        }
    }
    if constexpr (kMeasured == Measured::time) add_cycles(p.picture.costs, item.tile, begin);
    if constexpr (kGradients) {  // nothing was drawn behind the block's end
        const std::uint32_t words =
            base < item.end ? (item.end - base + kWarp - 1) / kWarp * kSubTiles : 0;
        for (std::uint32_t word = thread; word < words; word += kBlendThreads)
            p.contributed[contributed_word(item.tile, tile_first, base, 0) + word] = 0;
    }
    if constexpr (kCounters) {
        const std::uint32_t sum = warp_sum(evaluated);
        if (lane == 0) {
            atomicAdd(reinterpret_cast<unsigned long long*>(&p.counts->evaluated_pairs),
                      static_cast<unsigned long long>(sum));
            if (p.picture.pairs_per_tile != nullptr)
                atomicAdd(&p.picture.pairs_per_tile[item.tile], sum);
        }
    }
    if (item.index == 0 && thread == 0 && p.picture.isects_per_tile != nullptr)
        p.picture.isects_per_tile[item.tile] = p.tile_begin[item.tile + 1] - tile_first;
    if (item.partial != ~0u) return store_partial<kDepths, kCounters>(p, item.partial, pixel, s);
    finish<kDepths, kCounters>(p, c, pixel, s);
    if constexpr (kCounters) count_tile(p, s, pixel, item.tile, tile_end);
}

using Kernel = void (*)(BlendParams);
template <Depths kDepths>
constexpr Kernel kKernels[2][2] = {{blend<kDepths, false, false>, blend<kDepths, false, true>},
                                   {blend<kDepths, true, false>, blend<kDepths, true, true>}};
Kernel kernel_for(const FrameLimits& limits) {
    static constexpr const Kernel(*by_depths[])[2] = {
        kKernels<Depths::none>, kKernels<Depths::expected>, kKernels<Depths::with_median>};
    return by_depths[depths_of(limits)][limits.counters][limits.gradients];
}

void launch_blend(const Stream& stream, const FrameLimits& limits, const BlendParams& params,
                  Kernel kernel) {
    launch(stream, "blend", {limits.max_items(), kBlendThreads}, kernel, params);
    run_composite(stream, limits, params);
}

/// Once counting, and once more as it is always done, for the time.
void measure_blend(const Stream& stream, FrameLimits limits, BlendParams params) {
    const bool gradients = limits.gradients;
    launch_blend(stream, limits, params, blend<Depths::none, true, false, Measured::pairs>);
    limits.counters = false;
    launch_blend(stream, limits, params,
                 gradients ? blend<Depths::none, false, true, Measured::time>
                           : blend<Depths::none, false, false, Measured::time>);
}

}  // namespace

void run_blend(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
               const PictureView& picture) {
    const BlendParams params{a.constants,
                             a.counts,
                             a.splats,
                             a.slot_from_isect,
                             a.tile_begin,
                             a.items,
                             a.item_order,
                             a.long_tiles,
                             a.partials,
                             a.partial_contributors,
                             limits.gradients ? a.final_transmittance : nullptr,
                             a.contributed,
                             picture,
                             limits.item_isects,
                             a.gaussian_from_slot};
    if (picture.costs.tile_cycles != nullptr) return measure_blend(stream, limits, params);
    launch_blend(stream, limits, params, kernel_for(limits));
}

}  // namespace gs::cuda
