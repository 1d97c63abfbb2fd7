// What the warps of the CUDA backend would spend on a tile's list (WarpWork): the same walk as
// raster/cuda/blend.cu, in the same single-precision arithmetic, drawing nothing. A warp is 8 x 4
// pixels, as 32 lanes here; items, batches and groups are those of the kernel, and as the
// emulator runs it so is every decision: which splats are near, which pixels are open, where a
// pixel ends. A GPU's own exponential and division may differ by units in the last place, and with
// them a decision that hangs on such.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/warp_work.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <cmath>

#include "renderer/raster/cpu/lanes.h"
#include "renderer/raster/cpu/tile_squares.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

inline constexpr int kWarpLanes = 32, kWarpColumns = 8, kWarpRows = 4, kTileWarps = 8;
inline constexpr std::uint32_t kItemIsects = 1024, kBatchIsects = 256, kGroupIsects = 32;

/// The pixels of one warp; lane = 8 row + column.
struct WarpPixels {
    alignas(64) float x[kWarpLanes], y[kWarpLanes];  ///< centres, px
    alignas(64) float floor[kWarpLanes];  ///< least log2 alpha that blends; kEnded: none does
    alignas(64) float t[kWarpLanes];
    bool ended = false;  ///< all of them
};

void start(WarpPixels& w, const BlendParams& p, int x0, int y0) {
    w.ended = true;
    for (int lane = 0; lane < kWarpLanes; ++lane) {
        const int x = x0 + lane % kWarpColumns, y = y0 + lane / kWarpColumns;
        const bool inside = x < p.width && y < p.height;
        w.x[lane] = static_cast<float>(x) + 0.5f;
        w.y[lane] = static_cast<float>(y) + 0.5f;
        w.floor[lane] = inside ? p.log2_alpha_min : kEnded;
        w.t[lane] = 1.0f;
        w.ended = w.ended && !inside;
    }
}

HWY_INLINE float least(float a, float b) { return a < b ? a : b; }
HWY_INLINE float most(float a, float b) { return a > b ? a : b; }

/// log2 alpha as log2_alpha.cuh has it, multiply-adds fused where it fuses them.
HWY_INLINE float log2_alpha_at(const WarpForm& s, float dx, float dy) {
    const float across = std::fma(s.a, dx, s.b * dy);
    const float along = std::fma(-(s.c * dy), dy, s.l);
    return std::fma(-across, dx, along);
}

/// reaches() of raster/cuda/blend_pixel.cuh.
HWY_INLINE bool warp_reaches(const WarpPixels& w, const WarpForm& s, float log2_alpha_min) {
    const float left = w.x[0] - s.x, right = w.x[kWarpLanes - 1] - s.x, top = w.y[0] - s.y,
                bottom = w.y[kWarpLanes - 1] - s.y;
    const float x = least(most(0.0f, left), right), y = least(most(0.0f, top), bottom);
    const float y_at_x = least(most(-0.5f * s.b * x / s.c, top), bottom),
                x_at_y = least(most(-0.5f * s.b * y / s.a, left), right);
    const float largest = most(log2_alpha_at(s, x, y_at_x), log2_alpha_at(s, x_at_y, y));
    const float far_x = most(std::fabs(left), std::fabs(right)),
                far_y = most(std::fabs(top), std::fabs(bottom));
    const float terms = s.a * far_x * far_x + s.c * far_y * far_y;
    return !(largest + 1e-6f * (2.0f * terms + std::fabs(s.l)) < log2_alpha_min);
}

/// Blends one splat into the pixels. Returns whether any was open.
HWY_INLINE bool walk_splat(WarpPixels& w, const WarpForm& s, const Rules& rules) {
    const D d;
    bool touched = false, any_left = false;
    for (int lane = 0; lane < kWarpLanes; lane += static_cast<int>(hn::Lanes(d))) {
        const auto dx = hn::Sub(hn::Load(d, w.x + lane), hn::Set(d, s.x)),
                   dy = hn::Sub(hn::Load(d, w.y + lane), hn::Set(d, s.y));
        const auto across = hn::MulAdd(hn::Set(d, s.a), dx, hn::Mul(hn::Set(d, s.b), dy)),
                   along = hn::NegMulAdd(hn::Mul(hn::Set(d, s.c), dy), dy, hn::Set(d, s.l)),
                   power = hn::NegMulAdd(across, dx, along), floor = hn::Load(d, w.floor + lane);
        const auto open = hn::Ge(power, floor);
        if (hn::AllFalse(d, open)) {
            any_left = any_left || !hn::AllFalse(d, hn::Lt(floor, hn::Set(d, kEnded)));
            continue;
        }
        touched = true;
        const auto t = hn::Load(d, w.t + lane),
                   behind = hn::Sub(t, hn::Mul(hn::Min(exp2(power), rules.alpha_max), t));
        const auto ends = hn::And(open, hn::Le(behind, rules.transmittance_min));
        const auto left = hn::IfThenElse(ends, hn::Set(d, kEnded), floor);
        hn::Store(left, d, w.floor + lane);
        hn::Store(hn::IfThenElse(hn::AndNot(ends, open), behind, t), d, w.t + lane);
        any_left = any_left || !hn::AllFalse(d, hn::Lt(left, hn::Set(d, kEnded)));
    }
    w.ended = !any_left;
    return touched;
}

/// Isects [first, first + count) of a list, at most 32, by one warp. Bit i of what comes back:
/// isect i was open.
std::uint32_t walk_group(WarpPixels& w, const BlendParams& p, const WarpForm* forms,
                         const TileRect& rect, const Rules& rules, std::uint32_t first,
                         std::uint32_t count, WarpWork& work) {
    if (w.ended) return 0;
    ++work.group_tests;
    std::uint32_t touched = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        WarpForm s = forms[p.slot_from_isect[first + i]];
        s.x = nearest_copy(s.x, static_cast<float>(rect.x + kTileSize / 2), rect.wrap);
        if (!warp_reaches(w, s, p.log2_alpha_min)) continue;
        ++work.near;
        if (!walk_splat(w, s, rules)) continue;
        ++work.open;
        touched |= 1u << i;
    }
    return touched;
}

/// One work item, as if nothing lay before it.
void walk_item(const BlendParams& p, const WarpForm* forms, const TileRect& rect,
               std::uint32_t first, std::uint32_t end, WarpWork& work) {
    const Rules rules(p);
    WarpPixels warps[kTileWarps];
    for (int warp = 0; warp < kTileWarps; ++warp)
        start(warps[warp], p, rect.x + warp % 2 * kWarpColumns, rect.y + warp / 2 * kWarpRows);
    for (std::uint32_t base = first; base < end; base += kBatchIsects) {
        bool ended = true;
        for (const WarpPixels& w : warps) ended = ended && w.ended;
        if (ended) return;
        ++work.batches;
        const std::uint32_t batch_end = std::min(base + kBatchIsects, end);
        for (std::uint32_t group = base; group < batch_end; group += kGroupIsects) {
            std::uint32_t live = 0;
            for (WarpPixels& w : warps) {
                const std::uint32_t touched =
                    walk_group(w, p, forms, rect, rules, group,
                               std::min(kGroupIsects, batch_end - group), work);
                work.live_sub_tiles += hwy::PopCount(touched);
                live |= touched;
            }
            work.live_isects += hwy::PopCount(live);
        }
    }
}

void CountTileWarps(const BlendParams& p, const WarpForm* forms, std::uint32_t tile,
                    WarpWork& work) {
    const TileRect rect = tile_rect(p, tile);
    const std::uint32_t end = p.tile_begin[tile + 1];
    std::uint32_t first = p.tile_begin[tile];
    for (; end - first > kItemIsects; first += kItemIsects)
        walk_item(p, forms, rect, first, first + kItemIsects, work);
    walk_item(p, forms, rect, first, end, work);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(CountTileWarps);
void count_tile_warps(const BlendParams& params, const WarpForm* forms, std::uint32_t tile,
                      WarpWork& work) {
    HWY_DYNAMIC_DISPATCH(CountTileWarps)(params, forms, tile, work);
}
}  // namespace gs::cpu
#endif
