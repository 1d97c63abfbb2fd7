// Blend backward: a block per work item, a warp per 8 x 4 sub-tile, a lane per pixel.
// Isects come 32 at a time, those of one word of `contributed`; each warp lists the ones whose bit
// it set in forward and replays them four at a time, leaving what each pixel gives in shared
// memory: two numbers. Then the lanes change roles, eight to a splat, four pixels to a lane, and
// make its nine or ten sums: most of the adding is done within a lane, so that a splat takes two
// shuffles of the warp and not nine. The tile's eight sub-tiles meet in shared memory, where they
// are added in the order of warps; nothing is added by atomics, so the same frame gives the same
// bits. Where they are asked for, two sums more: of what each pixel pulls a splat's mean by,
// without its sign. docs/kernels.md has the instructions of each part.
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/blend_backward.cuh"
#include "renderer/raster/cuda/block_rank.cuh"

namespace gs::cuda {
namespace {

inline constexpr int kTurn = 4;                ///< splats that a warp sums at a time
inline constexpr int kPlane = kWarp / 4;       ///< float4 of 32 pixels
inline constexpr int kSplatPairs = kWarp + 1;  ///< of shared memory: no two rows on one bank
inline constexpr std::uint32_t kEntry = sizeof(Splat);  ///< bytes from one list entry to the next
static_assert(kEntry == 48, "three parts of 16 bytes");

/// Lanes with the bit clear keep a, the others keep b; the one not kept goes to the partner.
/// Returns kept + received.
GS_DEVICE float exchange(int bit, float a, float b) {
    const bool upper = (lane_id() & bit) != 0;
    const float keep = upper ? b : a, send = upper ? a : b;
    return keep + __shfl_xor_sync(kAllLanes, send, bit);
}
GS_DEVICE float fold(int bit, float a) { return a + __shfl_xor_sync(kAllLanes, a, bit); }

GS_DEVICE const float4* splat_at(const float4* batch, std::uint32_t entry) {
    return reinterpret_cast<const float4*>(reinterpret_cast<const char*>(batch) + entry);
}

/// The same number, but one that the compiler keeps in a register instead of computing it again
/// wherever it is used.
GS_DEVICE int kept(int x) { return __shfl_sync(kAllLanes, x, lane_id()); }

/// Where a pixel's pair lies among those of its splat: such that 32 pixels written for one splat,
/// and the same pixel of four rows read for four splats, meet no bank conflict.
GS_DEVICE int place_of(int row, int half) { return 16 * half + ((4 * row + 8 * half) & 15); }

/// What a warp keeps in shared memory.
template <bool kDepth, bool kAbsolute>
struct alignas(16) WarpScratch {
    static constexpr int kColors = kDepth ? 4 : 3, kFields = kAbsolute ? 12 : 6 + kColors;
    std::uint32_t list[kWarp];          ///< entries: a splat's offset in the batch, bytes
    float gradients[kColors * kWarp];   ///< of its pixels: red, green, blue, depth
    float2 pairs[kTurn * kSplatPairs];  ///< {v, w} of each splat of a turn and pixel
    /// By place in the batch: s sx sxx sy sxy syy, colours; or red green blue depth, and without
    /// signs x and y.
    float sums[kWarp * kFields];
};

/// How a splat's log2 alpha falls off: its slope is (2 a dx + b dy, b dx + 2 c dy).
struct Slope {
    float a, b, c;
};

/// Where a lane reads and writes while it sums: of splat lane % 4 of a turn, row lane / 4 % 4 and
/// half lane / 16 of the sub-tile, four pixels.
template <bool kDepth, bool kAbsolute>
struct Summer {
    using Scratch = WarpScratch<kDepth, kAbsolute>;
    const float2* pairs;  ///< of its first pixel
    const float4* gradients;
    float* sums;      ///< of the batch's first splat
    float left, top;  ///< centre of its first pixel, px

    GS_DEVICE Summer(Scratch& scratch, const SubTile& sub_tile) {
        const int lane = lane_id(), row = lane >> 2 & 3, half = lane >> 4;
        pairs = scratch.pairs + kept((lane & 3) * kSplatPairs + place_of(row, half));
        gradients = reinterpret_cast<const float4*>(scratch.gradients) + kept(2 * row + half);
        sums = scratch.sums + kept(field());
        left = sub_tile.left + static_cast<float>(4 * half);
        top = sub_tile.top + static_cast<float>(row);
    }
    /// The first sum that the lane ends with; lanes of the upper rows have no other, the lower ones
    /// also have the sum two fields further.
    GS_DEVICE static int field() {
        const int lane = lane_id();
        return 3 * (2 * (lane >> 4) + (lane >> 2 & 1)) + (lane >> 3 & 1);
    }
    GS_DEVICE static bool has_first() { return field() < Scratch::kFields; }
    GS_DEVICE static bool has_second() {
        return (lane_id() & 8) == 0 && field() < (kAbsolute ? 10 : 7);
    }

    /// The sums of a splat at (x, y) over the sub-tile, spread over its eight lanes.
    GS_DEVICE float2 sum(float x, float y, [[maybe_unused]] const Slope& slope) const {
        const float2 p0 = pairs[0], p1 = pairs[1], p2 = pairs[2], p3 = pairs[3];
        const float x0 = left - x, x1 = left + 1.0f - x, x2 = left + 2.0f - x, x3 = left + 3.0f - x;
        const float v0 = p0.x * x0, v1 = p1.x * x1, v2 = p2.x * x2, v3 = p3.x * x3;
        const float s = p0.x + p1.x + (p2.x + p3.x), sx = v0 + v1 + (v2 + v3);
        const float sxx = fmaf(v3, x3, fmaf(v2, x2, fmaf(v1, x1, v0 * x0)));
        const auto weighted = [&](const float4& of) {
            return fmaf(p3.y, of.w, fmaf(p2.y, of.z, fmaf(p1.y, of.y, p0.y * of.x)));
        };
        const float red = weighted(gradients[0]), green = weighted(gradients[kPlane]),
                    blue = weighted(gradients[2 * kPlane]);
        // Halves meet: lanes of the first have what v makes, those of the second the colours.
        const float s_red = exchange(16, s, red), sx_green = exchange(16, sx, green),
                    sxx_blue = exchange(16, sxx, blue);
        const bool first = lane_id() < 16;
        const float dy = first ? top - y : 0.0f;
        float sy = dy * s_red, sxy = dy * sx_green, syy = dy * sy;
        if constexpr (kDepth) {
            const float depth = fold(16, weighted(gradients[3 * kPlane]));
            sy = first ? sy : depth;
        }
        if constexpr (kAbsolute) {
            const float down = top - y, x_down = slope.b * down, y_down = 2.0f * slope.c * down;
            const auto pull = [](float v, float step, float across, float along) {
                return fabsf(v * fmaf(step, across, along));
            };
            const float a = 2.0f * slope.a, b = slope.b,
                        pull_x =
                            fold(16, pull(p0.x, a, x0, x_down) + pull(p1.x, a, x1, x_down) +
                                         (pull(p2.x, a, x2, x_down) + pull(p3.x, a, x3, x_down))),
                        pull_y =
                            fold(16, pull(p0.x, b, x0, y_down) + pull(p1.x, b, x1, y_down) +
                                         (pull(p2.x, b, x2, y_down) + pull(p3.x, b, x3, y_down)));
            sxy = first ? sxy : pull_x;
            syy = first ? syy : pull_y;
        }
        // Rows meet.
        const float a = exchange(4, s_red, sy), b = exchange(4, sx_green, sxy),
                    c = exchange(4, sxx_blue, syy);
        return make_float2(exchange(8, a, b), fold(8, c));
    }
};

/// Replays kCount entries of a list and leaves v and w of the lane's pixel.
template <bool kDepth, int kCount>
GS_DEVICE void replay_some(const float4* batch, const std::uint32_t* list, float2* pairs,
                           const ThreadPixel& pixel, ReplayState& state, const PixelGradient& g,
                           const BlendRules& rules) {
    std::uint32_t entries[4];
    if constexpr (kCount == 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(list);
        entries[0] = four.x, entries[1] = four.y, entries[2] = four.z, entries[3] = four.w;
    } else {
        GS_UNROLL
        for (int i = 0; i < kCount; ++i) entries[i] = list[i];
    }
    PairGradient pair[kCount];
    GS_UNROLL
    for (int i = 0; i < kCount; ++i) {
        const float4* from = splat_at(batch, entries[i]);
        const float4 u = from[0], v = from[1], w = from[2];
        const Splat splat{u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w, w.x, w.y, w.z, w.w};
        pair[i] = replay<kDepth>(state, g, splat, pixel.x - splat.x, pixel.y - splat.y, rules);
    }
    GS_UNROLL
    for (int i = 0; i < kCount; ++i) pairs[i * kSplatPairs] = make_float2(pair[i].v, pair[i].w);
}

/// The sums of a turn: of the first `count` entries of `list`, to where the sub-tiles meet.
template <bool kDepth, bool kAbsolute>
GS_DEVICE void sum_turn(const Summer<kDepth, kAbsolute>& summer, const float4* batch,
                        const std::uint32_t* list, int count) {
    __syncwarp();
    const bool wanted = (lane_id() & 3) < count;
    const std::uint32_t entry = wanted ? list[lane_id() & 3] : 0;
    const float4* splat = splat_at(batch, entry);
    const float4 center = *splat;
    Slope slope{};
    if constexpr (kAbsolute) slope = {center.z, center.w, splat[1].x};
    const float2 sum = summer.sum(center.x, center.y, slope);
    __syncwarp();
    float* to = summer.sums + entry / kEntry * WarpScratch<kDepth, kAbsolute>::kFields;
    if (wanted && summer.has_first()) to[0] = sum.x;
    if (wanted && summer.has_second()) to[2] = sum.y;
}

/// Thread 3 i + part carries 16 bytes of the splat of isect i of a group from memory, one group
/// ahead, and its slot two ahead.
struct Carrier {
    int i, part;
    float4 splat;
    std::uint32_t row;        ///< of isect_gradients
    std::uint32_t next_slot;  ///< in the group after

    /// What it carries, as the tile of the pixel at `pixel_x` sees it.
    GS_DEVICE float4 seen(float pixel_x, float wrap) const {
        float4 out = splat;
        if (part == 0) out.x = x_for_tile(out.x, pixel_x, wrap);
        return out;
    }
    GS_DEVICE void fetch_slot(const BlendBackwardParams& p, const WorkItem& item, int group) {
        const std::uint32_t isect = item.first + static_cast<std::uint32_t>(group * kWarp + i);
        if (isect < item.end) next_slot = p.frame.slot_from_isect[isect];
    }
    /// A group, whose slots were fetched before, and the slots of the one after.
    GS_DEVICE void fetch(const BlendBackwardParams& p, const WorkItem& item, int group) {
        const std::uint32_t isect = item.first + static_cast<std::uint32_t>(group * kWarp + i);
        if (isect >= item.end) return;
        splat = reinterpret_cast<const float4*>(p.frame.splats + next_slot)[part];
        row = p.frame.payload[1][isect];
        fetch_slot(p, item, group + 1);
    }
};

/// A third of a splat's row in this tile: the sums of its sub-tiles, in their order; nothing where
/// no sub-tile has any. `masks`: the group's.
template <bool kDepth, bool kAbsolute, class Scratches>
GS_DEVICE void store_tile(const BlendBackwardParams& p, const Scratches& scratches,
                          const std::uint32_t* masks, int i, int part, std::uint32_t row) {
    float total[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    bool any = false;
    GS_UNROLL
    for (int warp = 0; warp < kSubTiles; ++warp) {
        const bool live = (masks[warp] >> i & 1u) != 0;
        const float* from =
            scratches[warp].sums + i * WarpScratch<kDepth, kAbsolute>::kFields + 3 * part;
        any |= live;
        GS_UNROLL
        for (int k = 0; k < 3; ++k) total[k] += live ? from[k] : 0.0f;
        if constexpr (kAbsolute)  // behind the depth, the first two parts' own
            total[3] += live ? from[part == 2 ? 3 : 10 - 2 * part] : 0.0f;
        else if (kDepth && live && part == 2)
            total[3] += from[3];
    }
    if (any) store_row(p.frame, row, part, make_float4(total[0], total[1], total[2], total[3]));
}

template <bool kDepth, bool kTimed, bool kAbsolute>
GS_DEVICE void replay_item(const BlendBackwardParams& p) {
    using Scratch = WarpScratch<kDepth, kAbsolute>;
    GS_SHARED(std::uint32_t, words, kItemGroups * kSubTiles);
    GS_SHARED(std::uint32_t, group_any, kItemGroups);
    GS_SHARED(float4, batch, kWarp * 3);
    GS_SHARED(Scratch, scratches, kSubTiles);
    if (p.frame.counts->overflow != 0 || blockIdx.x >= p.frame.counts->items) return;
    [[maybe_unused]] const long long begin = kTimed ? clock64() : 0;
    const WorkItem item = p.frame.items[p.frame.item_order[blockIdx.x]];
    if (item.first == item.end) return;
    const int groups = kWarp - __clz(static_cast<int>(load_masks(p, item, words, group_any)));

    const FrameConstants& c = *p.frame.constants;
    const BlendRules rules(c);
    const int thread = static_cast<int>(threadIdx.x), lane = lane_id(), warp = warp_id();
    const ThreadPixel pixel = thread_pixel(c, item.tile);
    PixelGradient g{};
    ReplayState state{};
    if (pixel.inside) state = start_pixel<kDepth>(p, c, item, pixel.offset, pixel.in_tile, g);
    Scratch& scratch = scratches[kept(warp)];
    const Summer<kDepth, kAbsolute> summer(scratch, sub_tile_of(c, item.tile, warp));
    scratch.gradients[lane] = g.red;
    scratch.gradients[kWarp + lane] = g.green;
    scratch.gradients[2 * kWarp + lane] = g.blue;
    if constexpr (kDepth) scratch.gradients[3 * kWarp + lane] = g.depth;
    float2* pairs = scratch.pairs + kept(place_of(lane >> 3, lane >> 2 & 1) + (lane & 3));
    for (int i = 0; i < kTurn; ++i)
        pairs[i * kSplatPairs] = make_float2(0.0f, 0.0f);  // the last turn may be short

    Carrier carrier{thread / 3, thread % 3, {}, 0, 0};
    const unsigned below = static_cast<unsigned>(kept(static_cast<int>((1u << lane) - 1u)));
    const std::uint32_t own_entry = static_cast<std::uint32_t>(lane) * kEntry;
    const bool carries = warp < 3;
    if (carries) {
        carrier.fetch_slot(p, item, 0);
        carrier.fetch(p, item, 0);
    }
    for (int group = 0; group < groups; ++group) {
        const std::uint32_t row = carrier.row;
        if (carries) batch[thread] = carrier.seen(pixel.x, c.wrap);
        const std::uint32_t* masks = &words[group * kSubTiles];
        const unsigned mask = masks[warp];
        if ((mask & (below + 1u)) != 0) scratch.list[__popc(mask & below)] = own_entry;
        __syncthreads();
        if (carries) carrier.fetch(p, item, group + 1);
        const float4* splats = &batch[0];
        const std::uint32_t* list = scratch.list;
        int left = __popc(mask);
        for (; left >= kTurn; left -= kTurn, list += kTurn) {
            replay_some<kDepth, kTurn>(splats, list, pairs, pixel, state, g, rules);
            sum_turn(summer, splats, list, kTurn);
        }
        if (left > 0) {
            if ((left & 2) != 0)
                replay_some<kDepth, 2>(splats, list, pairs, pixel, state, g, rules);
            if ((left & 1) != 0)
                replay_some<kDepth, 1>(splats, list + (left & 2), pairs + (left & 2) * kSplatPairs,
                                       pixel, state, g, rules);
            sum_turn(summer, splats, list, left);
        }
        __syncthreads();
        if (carries)
            store_tile<kDepth, kAbsolute>(p, scratches, masks, carrier.i, carrier.part, row);
    }
    if constexpr (kTimed) {
        __syncthreads();
        if (thread == 0)
            atomicAdd(&p.gradients.costs.tile_cycles[item.tile],
                      static_cast<unsigned long long>(clock64() - begin));
    }
}

template <bool kDepth, bool kTimed>
GS_KERNEL(kTilePixels, kDepth ? 3 : 4)
void blend_backward(BlendBackwardParams p) {
    replay_item<kDepth, kTimed, false>(p);
}
/// With the sums without signs.
template <bool kDepth>
GS_KERNEL(kTilePixels, kDepth ? 3 : 4)
void blend_backward_absolute(BlendBackwardParams p) {
    replay_item<kDepth, false, true>(p);
}

/// What the replay walks: for each isect the pixels of the sub-tiles whose bit forward set. A block
/// a tile.
GS_KERNEL(kTilePixels, 4)
void count_backward_pairs(BlendBackwardParams p) {
    if (p.frame.counts->overflow != 0) return;
    const std::uint32_t tile = blockIdx.x, first = p.frame.tile_begin[tile],
                        end = p.frame.tile_begin[tile + 1];
    const FrameConstants& c = *p.frame.constants;
    const int right = c.width - static_cast<int>(tile) % c.tiles_x * kTileSize,
              bottom = c.height - static_cast<int>(tile) / c.tiles_x * kTileSize;
    std::uint32_t sum = 0;
    for (std::uint32_t isect = first + threadIdx.x; isect < end; isect += kTilePixels) {
        std::uint32_t pairs = 0;
        for (int sub = 0; sub < kSubTiles; ++sub) {
            const std::uint32_t word =
                p.frame.contributed[contributed_word(tile, first, isect, sub)];
            const int columns = min(max(right - sub % 2 * kSubTileWidth, 0), kSubTileWidth),
                      rows = min(max(bottom - sub / 2 * kSubTileHeight, 0), kSubTileHeight);
            if ((word >> ((isect - first) % 32) & 1u) != 0)
                pairs += static_cast<std::uint32_t>(columns * rows);
        }
        sum += pairs;
        atomicAdd(&p.gradients.costs
                       .evaluated[p.frame.gaussian_from_slot[p.frame.slot_from_isect[isect]]],
                  pairs);
    }
    sum = warp_sum(sum);
    if (lane_id() == 0) atomicAdd(&p.gradients.costs.tile_pairs[tile], sum);
}

}  // namespace

void launch_blend_backward(const Stream& stream, const FrameLimits& limits,
                           const BlendBackwardParams& params) {
    const Grid grid{limits.max_items(), kTilePixels};
    const bool depth = params.gradients.depth != nullptr;
    if (params.gradients.costs.tile_cycles != nullptr) {
        launch(stream, "count backward pairs",
               Grid{static_cast<std::uint32_t>(limits.tiles), kTilePixels}, count_backward_pairs,
               params);
        launch(stream, "blend backward", grid, blend_backward<false, true>, params);
    } else if (params.gradients.absolute)
        launch(stream, "blend backward", grid,
               depth ? blend_backward_absolute<true> : blend_backward_absolute<false>, params);
    else
        launch(stream, "blend backward", grid,
               depth ? blend_backward<true, false> : blend_backward<false, false>, params);
}

}  // namespace gs::cuda
