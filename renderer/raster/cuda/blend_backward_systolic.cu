// Blend backward, variant A: a lane per splat. The 256 pixels of a tile pass through a ring of four
// warps, each lane taking the state {T, R} from the lane before it, so every pixel meets the splats
// front to back while each lane keeps the sums of its own splat in registers: no reduction, and one
// row written per splat. A group of 32 live splats needs 256 + 31 turns of one warp; warp w has
// groups w, w + 4, ... and starts two stages of 32 turns behind warp w - 1, when its first pixels
// are there; after four warps that is the eight stages a warp is busy, so the ring never waits.
#include "renderer/device/cuda/kernel.cuh"
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/blend_backward.cuh"
#include "renderer/raster/cuda/live_isects.cuh"

namespace gs::cuda {
namespace {

inline constexpr int kRingWarps = 4;
inline constexpr int kRingThreads = kRingWarps * kWarp;
inline constexpr int kStages = kTilePixels / kWarp;  ///< stages in which a group takes in pixels
inline constexpr int kLag = 2;                       ///< stages from one group to the next
static_assert(kLag * kRingWarps == kStages);
inline constexpr std::uint32_t kNoRow = ~0u;

/// A lane's splat, what it has gathered, and where that goes.
struct LaneSplat {
    Splat splat;
    IsectGradient sum;
    std::uint32_t row = kNoRow;
};
template <bool kDepth>
GS_DEVICE void gather(IsectGradient& sum, const PairGradient& pair, const PixelGradient& g,
                      float dx, float dy) {
    const float vx = pair.v * dx, vy = pair.v * dy;
    sum.s += pair.v;
    sum.sx += vx;
    sum.sxx = fmaf(vx, dx, sum.sxx);
    sum.sy += vy;
    sum.sxy = fmaf(vx, dy, sum.sxy);
    sum.syy = fmaf(vy, dy, sum.syy);
    sum.red = fmaf(pair.w, g.red, sum.red);
    sum.green = fmaf(pair.w, g.green, sum.green);
    sum.blue = fmaf(pair.w, g.blue, sum.blue);
    if constexpr (kDepth) sum.depth = fmaf(pair.w, g.depth, sum.depth);
}
GS_DEVICE void finish(const FrameArrays& frame, const LaneSplat& mine) {
    if (mine.row == kNoRow) return;
    const IsectGradient& sum = mine.sum;
    store_row(frame, mine.row, 0, make_float4(sum.s, sum.sx, sum.sxx, 0.0f));
    store_row(frame, mine.row, 1, make_float4(sum.sy, sum.sxy, sum.syy, 0.0f));
    store_row(frame, mine.row, 2, make_float4(sum.red, sum.green, sum.blue, sum.depth));
}
GS_DEVICE Splat splat_of(const float4* from) {
    const float4 u = from[0], v = from[1], w = from[2];
    return {u.x, u.y, u.z, u.w, v.x, v.y, v.z, v.w, w.x, w.y, w.z, w.w};
}

template <bool kDepth>
GS_KERNEL(kRingThreads, 6)
void blend_backward_systolic(BlendBackwardParams p) {
    GS_SHARED(std::uint32_t, words, kItemGroups * kSubTiles);
    GS_SHARED(std::uint32_t, group_any, kItemGroups);
    GS_SHARED(std::uint16_t, live, kItemIsects);
    GS_SHARED(float4, gradients, kTilePixels);
    GS_SHARED(float2, states, kTilePixels);        // {T, R} of pixels between two groups
    GS_SHARED(float4, waiting, kRingThreads * 3);  // the splat each lane takes next
    if (p.frame.counts->overflow != 0 || blockIdx.x >= p.frame.counts->items) return;
    const WorkItem item = p.frame.items[p.frame.item_order[blockIdx.x]];
    if (item.first == item.end) return;
    const FrameConstants& c = *p.frame.constants;
    const int thread = static_cast<int>(threadIdx.x), lane = lane_id(), warp = warp_id();
    const int tile_x = static_cast<int>(item.tile) % c.tiles_x * kTileSize,
              tile_y = static_cast<int>(item.tile) / c.tiles_x * kTileSize;
    for (int pixel = thread; pixel < kTilePixels; pixel += kRingThreads) {
        const int x = tile_x + pixel % kTileSize, y = tile_y + pixel / kTileSize;
        PixelGradient g{};
        ReplayState start{};
        if (x < c.width && y < c.height)
            start = start_pixel<kDepth>(p, c, item, static_cast<std::uint32_t>(y * c.width + x),
                                        pixel, g);
        gradients[pixel] = make_float4(g.red, g.green, g.blue, g.depth);
        states[pixel] = make_float2(start.t, start.rest);
    }
    load_masks<kRingThreads>(p, item, words, group_any);
    const int count = find_live<kRingThreads>(item, group_any, live);
    const int groups = (count + kWarp - 1) / kWarp,
              stages = groups > 0 ? kLag * (groups - 1) + kStages + 1 : 0;
    const BlendRules rules(c);
    const float left = static_cast<float>(tile_x) + 0.5f, top = static_cast<float>(tile_y) + 0.5f;

    LaneSplat mine{};
    ReplayState passing{0.0f, 0.0f};
    std::uint32_t waiting_row = kNoRow;
    for (int stage = 0; stage < stages; ++stage) {
        const int since = stage - kLag * warp, chunk = since & (kStages - 1);
        const int group = (since >> 3) * kRingWarps + warp;  // the one that takes in pixels
        const bool takes = since >= 0 && group < groups,
                   drains = since >= kStages && chunk == 0 && group - kRingWarps < groups;
        if (takes || drains) {  // the same for all lanes of a warp
            if (chunk == 0) {
                const int i = group * kWarp + lane;
                waiting_row = kNoRow;
                if (i < count) {
                    const std::uint32_t isect = item.first + live[i];
                    const float4* from = reinterpret_cast<const float4*>(
                        p.frame.splats + p.frame.slot_from_isect[isect]);
                    for (int part = 0; part < 3; ++part) waiting[3 * thread + part] = from[part];
                    waiting_row = p.frame.payload[1][isect];
                }
            }
            for (int turn = 0; turn < kWarp; ++turn) {
                if (chunk == 0 &&
                    turn == lane) {  // the last pixel has passed, the first of the next group comes
                    finish(p.frame, mine);
                    mine.row = waiting_row;
                    mine.sum = {};
                    if (mine.row != kNoRow) mine.splat = splat_of(&waiting[3 * thread]);
                }
                passing.t = __shfl_up_sync(kAllLanes, passing.t, 1);
                passing.rest = __shfl_up_sync(kAllLanes, passing.rest, 1);
                const int behind = chunk * kWarp + turn - lane, pixel = behind & (kTilePixels - 1);
                if (lane == 0 && takes) passing = {states[pixel].x, states[pixel].y};
                if (mine.row != kNoRow) {
                    const float4 own = gradients[pixel];
                    const PixelGradient g{own.x, own.y, own.z, own.w};
                    const float dx = left + static_cast<float>(pixel % kTileSize) - mine.splat.x,
                                dy = top + static_cast<float>(pixel / kTileSize) - mine.splat.y;
                    gather<kDepth>(mine.sum, replay<kDepth>(passing, g, mine.splat, dx, dy, rules),
                                   g, dx, dy);
                }
                const bool leaves = behind >= 0 ? takes : since >= kStages;
                __syncwarp();  // lane 0 has read before lane 31 writes: shuffles order no memory
                if (lane == kWarp - 1 && leaves)
                    states[pixel] = make_float2(passing.t, passing.rest);
            }
        }
        __syncthreads();
    }
}

}  // namespace

void launch_blend_backward_systolic(const Stream& stream, const FrameLimits& limits,
                                    const BlendBackwardParams& params) {
    const Grid grid{limits.max_items(), kRingThreads};
    if (params.gradients.depth != nullptr)
        launch(stream, "blend backward, systolic", grid, blend_backward_systolic<true>, params);
    else
        launch(stream, "blend backward, systolic", grid, blend_backward_systolic<false>, params);
}

}  // namespace gs::cuda
