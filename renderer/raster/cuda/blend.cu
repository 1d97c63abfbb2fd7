// Blend: a block of 256 threads draws one work item, a warp an 8 x 4 sub-tile of its tile, a lane a
// pixel. Splats come through shared memory 256 at a time (48 bytes each, gathered; the 48 V bytes
// of records stay in the second-level cache). Of each 32 of them a lane tests one against the
// warp's rectangle, exactly; those that pass make a list, which the warp then walks four at a time:
// straight code, three 16-byte broadcasts from shared memory and some 21 instructions a splat for
// 32 pixels, and two more where gradients will be wanted. So what binds is the instruction rate,
// and the sub-tile test is what keeps the pairs few. docs/kernels.md has the exact counts.
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/blend.cuh"

namespace gs::cuda {
namespace {

inline constexpr int kBatch = kBlendThreads;             ///< splats in shared memory, one a thread
inline constexpr std::uint32_t kEntry = sizeof(float4);  ///< bytes from one offset to the next

/// Part 0, 1 or 2 of a splat of the batch in shared memory. Equal parts lie side by side, so that
/// 32 lanes reading 32 splats meet no bank conflict. `offset`: of the splat in bytes, as lists have
/// it, so that finding a splat takes no instruction.
GS_DEVICE const float4& part_at(const float4* batch, std::uint32_t offset, int part) {
    return *reinterpret_cast<const float4*>(reinterpret_cast<const char*>(batch + part * kBatch) +
                                            offset);
}
/// All of a splat but its colour.
GS_DEVICE Splat form_at(const float4* batch, std::uint32_t offset) {
    const float4 u = part_at(batch, offset, 0), v = part_at(batch, offset, 1);
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

/// What a warp walks; the same for all of its lanes.
struct Walk {
    const float4* batch;         ///< shared: splats
    std::uint32_t* list;         ///< shared, [kWarp]: offsets of those near the sub-tile
    std::uint32_t first;         ///< isect of the batch's first splat
    std::uint32_t before_batch;  ///< isects of its tile before that
    PixelRules rules;
    float log2_alpha_min;
};
/// What a warp has done, for WarpWork. `open`: a part in each lane.
struct WarpTally {
    std::uint32_t tests = 0, near = 0, open = 0;
};

/// kCount splats of the list, from `place`, over a lane's pixel. For which of them it was open, a
/// bit each from bit 0. The loads and powers of all of them are under way together.
template <Depths kDepths, bool kCounters, Measured kMeasured, int kCount>
GS_DEVICE unsigned blend_some(const BlendParams& p, const Walk& walk, int place,
                              const ThreadPixel& pixel, PixelState& s) {
    std::uint32_t offsets[4];
    if constexpr (kCount == 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(walk.list + place);
        offsets[0] = four.x, offsets[1] = four.y, offsets[2] = four.z, offsets[3] = four.w;
    } else {
        GS_UNROLL
        for (int i = 0; i < kCount; ++i) offsets[i] = walk.list[place + i];
    }
    unsigned opened = 0;
    GS_UNROLL
    for (int i = 0; i < kCount; ++i) {
        const Splat splat = form_at(walk.batch, offsets[i]);
        const float4 color = part_at(walk.batch, offsets[i], 2);
        const std::uint32_t in_batch = offsets[i] / kEntry, before = s.contributors;
        const float power = log2_alpha(splat, pixel.x - splat.x, pixel.y - splat.y);
        if (blend_into<kDepths, kCounters>(s, power, color.x, color.y, color.z, splat.depth,
                                           walk.rules, walk.before_batch + in_batch))
            opened |= 1u << i;
        if constexpr (kMeasured == Measured::pairs) {
            const unsigned inside = __ballot_sync(kAllLanes, pixel.inside),
                           drawn = __ballot_sync(kAllLanes, s.contributors != before);
            if (lane_id() == 0) count_splat(p, walk.first + in_batch, inside, drawn);
        }
    }
    return opened;
}

/// The list, `count` splats front to back. For which of them the lane's pixel was open, by place.
template <Depths kDepths, bool kCounters, Measured kMeasured>
GS_DEVICE unsigned blend_list(const BlendParams& p, const Walk& walk, int count,
                              const ThreadPixel& pixel, PixelState& s) {
    unsigned opened = 0;
    int place = 0;
    for (; place + 4 <= count; place += 4)
        opened |= blend_some<kDepths, kCounters, kMeasured, 4>(p, walk, place, pixel, s) << place;
    if ((count & 2) != 0) {
        opened |= blend_some<kDepths, kCounters, kMeasured, 2>(p, walk, place, pixel, s) << place;
        place += 2;
    }
    if ((count & 1) != 0)
        opened |= blend_some<kDepths, kCounters, kMeasured, 1>(p, walk, place, pixel, s) << place;
    return opened;
}

/// The `staged` splats of a batch over a warp's pixels, 32 at a time, until all of them have ended.
/// With kTouched the result in lane g is a bit for each of the 32 splats of group g: whether it was
/// open for any of the pixels.
template <Depths kDepths, bool kCounters, Measured kMeasured, bool kTouched>
GS_DEVICE unsigned blend_batch(const BlendParams& p, const Walk& walk, const SubTile& sub_tile,
                               int staged, const ThreadPixel& pixel, PixelState& s,
                               WarpTally& tally) {
    const int lane = lane_id();
    unsigned touched = 0;
    for (int group = 0; group * kWarp < staged; ++group) {
        if (__all_sync(kAllLanes, s.floor >= kEndedFloor) != 0) break;
        const int mine = group * kWarp + lane;
        const std::uint32_t offset = static_cast<std::uint32_t>(mine) * kEntry;
        const bool near =
            mine < staged && reaches(sub_tile, form_at(walk.batch, offset), walk.log2_alpha_min);
        const unsigned bits = __ballot_sync(kAllLanes, near);
        const int place = __popc(bits & ((1u << lane) - 1u)), count = __popc(bits);
        if (near) walk.list[place] = offset;
        __syncwarp();
        unsigned opened = blend_list<kDepths, kCounters, kMeasured>(p, walk, count, pixel, s);
        __syncwarp();
        if constexpr (kTouched) {
            opened = warp_or(opened);
            const unsigned some = __ballot_sync(kAllLanes, near && (opened >> place & 1u) != 0);
            if (lane == group) touched = some;
        }
        if constexpr (kCounters) {
            ++tally.tests;
            tally.near += static_cast<std::uint32_t>(count);
        }
    }
    tally.open += static_cast<std::uint32_t>(__popc(touched));
    return touched;
}

GS_DEVICE void add(std::uint64_t& to, std::uint32_t n) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(n));
}
/// Adds a block's work to the frame's. All threads call it. `live`: shared, a word for each 32
/// isects of the item, bits of isects that any warp was open for.
template <class Live>
GS_DEVICE void count_work(const BlendParams& p, std::uint32_t tile, bool inside,
                          std::uint32_t batches, const WarpTally& tally, const Live& live) {
    WarpWork& work = p.counts->warps;
    const std::uint32_t open = warp_sum(tally.open);
    const std::uint32_t pairs =
        tally.near * static_cast<std::uint32_t>(__popc(__ballot_sync(kAllLanes, inside)));
    if (lane_id() == 0) {
        add(work.group_tests, tally.tests);
        add(work.near, tally.near);
        add(work.open, open);
        add(work.live_sub_tiles, open);
        add(p.counts->evaluated_pairs, pairs);
        if (p.picture.pairs_per_tile != nullptr) atomicAdd(&p.picture.pairs_per_tile[tile], pairs);
    }
    __syncthreads();
    if (warp_id() != 0) return;
    const std::uint32_t isects = warp_sum(static_cast<std::uint32_t>(__popc(live[lane_id()])));
    if (lane_id() != 0) return;
    add(work.batches, batches);
    add(work.live_isects, isects);
}

template <Depths kDepths, bool kCounters, bool kGradients, Measured kMeasured = Measured::nothing>
GS_KERNEL(kBlendThreads, kCounters                 ? 3
                         : kDepths == Depths::none ? 5
                                                   : 4)
void blend(BlendParams p) {
    constexpr bool kTouched = kGradients || kCounters;
    GS_SHARED(float4, batch, 3 * kBatch);  // x y a b; c l depth extent_x; red green blue extent_y
    GS_SHARED(uint4, lists, kBlendThreads / 4);  // aligned for four entries at once
    GS_SHARED(std::uint32_t, tile_end, 1);
    GS_SHARED(std::uint32_t, live, kItemIsects / kWarp);
    if (p.counts->overflow != 0 || blockIdx.x >= p.counts->items) return;
    [[maybe_unused]] const long long begin = kMeasured == Measured::time ? clock64() : 0;
    const FrameConstants& c = *p.constants;
    const WorkItem item = p.items[p.item_order[blockIdx.x]];
    const std::uint32_t thread = threadIdx.x, tile_first = p.tile_begin[item.tile];
    const int lane = lane_id(), warp = warp_id();
    const ThreadPixel pixel = thread_pixel(c, item.tile);
    const SubTile sub_tile = sub_tile_of(c, item.tile, warp);
    PixelState s = start_of(pixel, c, p.tile_begin[item.tile + 1] - tile_first);
    Walk walk{&batch[0],
              reinterpret_cast<std::uint32_t*>(&lists[warp * kWarp / 4]),
              0,
              0,
              pixel_rules(c),
              c.log2_alpha_min};
    WarpTally tally;
    if (kCounters && thread < kItemIsects / kWarp) live[thread] = 0;

    std::uint32_t base = item.first;
    for (; base < item.end; base += kBatch) {
        // Also keeps the batch until every warp has left it.
        if (__syncthreads_and(s.floor >= kEndedFloor) != 0) break;
        if (base + thread < item.end) {
            const float4* from =
                reinterpret_cast<const float4*>(p.splats + p.slot_from_isect[base + thread]);
            float4 place = from[0];
            place.x = x_for_tile(place.x, pixel.x, c.wrap);
            batch[thread] = place;
            for (std::uint32_t part = 1; part < 3; ++part)
                batch[part * kBatch + thread] = from[part];
        }
        __syncthreads();
        const std::uint32_t staged = min(item.end - base, static_cast<std::uint32_t>(kBatch));
        walk.first = base;
        walk.before_batch = base - tile_first;
        [[maybe_unused]] const unsigned touched =
            blend_batch<kDepths, kCounters, kMeasured, kTouched>(
                p, walk, sub_tile, static_cast<int>(staged), pixel, s, tally);
        if constexpr (kGradients)
            if (static_cast<std::uint32_t>(lane) * kWarp < staged)
                p.contributed[contributed_word(item.tile, tile_first, base, warp) +
                              static_cast<std::uint32_t>(lane * kSubTiles)] = touched;
        if constexpr (kCounters)
            if (touched != 0)
                atomicOr(&live[(base - item.first) / kWarp + static_cast<std::uint32_t>(lane)],
                         touched);
    }
    if constexpr (kMeasured == Measured::time) add_cycles(p.picture.costs, item.tile, begin);
    if constexpr (kGradients) {  // nothing was drawn behind the block's end
        const std::uint32_t words =
            base < item.end ? (item.end - base + kWarp - 1) / kWarp * kSubTiles : 0;
        for (std::uint32_t word = thread; word < words; word += kBlendThreads)
            p.contributed[contributed_word(item.tile, tile_first, base, 0) + word] = 0;
    }
    if constexpr (kCounters)
        count_work(p, item.tile, pixel.inside,
                   (min(base, item.end) - item.first + kBatch - 1) / kBatch, tally, live);
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
