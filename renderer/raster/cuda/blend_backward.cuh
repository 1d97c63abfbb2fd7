// The parts of blend backward's kernel: which isects of a work item it walks, a pixel's state and
// its start, one splat replayed over one pixel, and the rows it leaves for project backward, which
// adds up those that are live. The replay goes front to back with forward's arithmetic and
// decisions, so over the same pixels. With T the transmittance before a
// splat and R what all splats behind it contribute, d loss / d alpha = T (c . g) - R / (1
// - alpha); R starts as the whole pixel and loses each splat's own part.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/blend_backward.h"
#include "renderer/raster/cuda/blend_pixel.cuh"

namespace gs::cuda {

inline constexpr int kItemGroups = kItemIsects / 32;
static_assert(kItemGroups == kWarp, "a lane per group of 32 isects");

/// A third of a row; the first marks the row as live.
GS_DEVICE void store_row(const FrameArrays& frame, std::uint32_t row, int part, float4 value) {
    reinterpret_cast<float4*>(frame.isect_gradients + row)[part] = value;
    if (part == 0) atomicOr(&frame.live_rows[row / 32], 1u << (row % 32));
}

/// Fills words[group][sub-tile] with the contributed masks of an item and group_any[group] with
/// their unions; the groups that have any, a bit each. All threads of a block call it; ends behind
/// a barrier.
template <class Words, class Any>
GS_DEVICE unsigned load_masks(const BlendBackwardParams& p, const WorkItem& item, Words& words,
                              Any& group_any) {
    const std::uint32_t count = item.end - item.first;
    const std::uint32_t* masks =
        p.frame.contributed +
        contributed_word(item.tile, p.frame.tile_begin[item.tile], item.first, 0);
    for (std::uint32_t i = threadIdx.x; i < kItemGroups * kSubTiles; i += kTilePixels) {
        const std::uint32_t group = i / kSubTiles;
        std::uint32_t word = group * 32 < count ? masks[i] : 0;
        if (count < group * 32 + 32) word &= (1u << (count % 32)) - 1;
        words[i] = word;
        for (int bit = 1; bit < kSubTiles; bit *= 2) word |= __shfl_xor_sync(kAllLanes, word, bit);
        if (i % kSubTiles == 0) group_any[group] = word;
    }
    __syncthreads();
    return __ballot_sync(kAllLanes, group_any[lane_id()] != 0);
}

struct PixelGradient {
    float red, green, blue, depth;  ///< d loss / d picture
};
struct ReplayState {
    float t;     ///< transmittance; 0 once the pixel has ended, and outside the picture
    float rest;  ///< R
};

/// A pixel inside the picture as it is before the first isect of an item. `o`: its place in a plane
/// of the picture, `in_tile`: 16 y + x.
template <bool kDepth>
GS_DEVICE ReplayState start_pixel(const BlendBackwardParams& p, const FrameConstants& c,
                                  const WorkItem& item, std::uint32_t o, int in_tile,
                                  PixelGradient& g) {
    const std::size_t plane =
        static_cast<std::size_t>(c.width) * static_cast<std::size_t>(c.height);
    g.red = p.gradients.color[o];
    g.green = p.gradients.color[plane + o];
    g.blue = p.gradients.color[2 * plane + o];
    ReplayState s{1.0f, p.picture.color[o] * g.red + p.picture.color[plane + o] * g.green +
                            p.picture.color[2 * plane + o] * g.blue};
    if (p.gradients.alpha != nullptr)
        s.rest -= p.frame.final_transmittance[o] * p.gradients.alpha[o];
    if constexpr (kDepth) {
        g.depth = p.gradients.depth[o];
        s.rest += p.picture.depth[o] * g.depth;
    }
    if (item.partial == ~0u) return s;
    const float* before = p.frame.partials +
                          static_cast<std::size_t>(item.partial) * kPartialPlanes * kTilePixels +
                          in_tile;
    s.rest -= before[0] * g.red + before[kTilePixels] * g.green + before[2 * kTilePixels] * g.blue;
    s.t = before[3 * kTilePixels];
    if constexpr (kDepth) s.rest -= before[4 * kTilePixels] * g.depth;
    return s;
}

/// What one splat gets from one pixel.
struct PairGradient {
    float v;  ///< d loss / d ln alpha
    float w;  ///< weight, alpha T
};
struct BlendRules {
    float log2_alpha_min, alpha_max, transmittance_min;
    GS_DEVICE explicit BlendRules(const FrameConstants& c)
        : log2_alpha_min(c.log2_alpha_min),
          alpha_max(c.rules.alpha_max),
          transmittance_min(c.transmittance_min) {}
};
template <bool kDepth>
GS_DEVICE PairGradient replay(ReplayState& s, const PixelGradient& g, const Splat& splat, float dx,
                              float dy, const BlendRules& rules) {
    const float power = log2_alpha(splat, dx, dy);
    const float raw_alpha = exp2f(power),
                alpha = power >= rules.log2_alpha_min ? fminf(raw_alpha, rules.alpha_max) : 0.0f;
    const float weight = weight_of(alpha, s.t), behind = transmittance_behind(s.t, weight);
    // A pixel that has ended stays so: behind = 0.
    const bool goes_on = behind > rules.transmittance_min;
    const float w = goes_on ? weight : 0.0f;
    float cg = g.red * splat.red;
    cg = fmaf(g.green, splat.green, cg);
    cg = fmaf(g.blue, splat.blue, cg);
    if constexpr (kDepth) cg = fmaf(g.depth, splat.depth, cg);
    s.rest = fmaf(-w, cg, s.rest);
    // 1 - alpha >= 0.01. The clamp at alpha_max passes no gradient.
    const float v_alpha = s.t * cg - __fdividef(s.rest, 1.0f - alpha);
    const float v = v_alpha * (goes_on && raw_alpha < rules.alpha_max ? alpha : 0.0f);
    s.t = goes_on ? behind : 0.0f;
    return {v, w};
}

}  // namespace gs::cuda
