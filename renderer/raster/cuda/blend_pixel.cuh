// What one pixel of blending is: where it lies, what a splat does to it, how the sub-tile test and
// the end of a pixel are decided. Blend, composite and blend backward include it, so all of them
// decide on the same bits; nothing here leaves the compiler a multiply-add to fuse in one kernel
// and not in the other.
#pragma once

#include "renderer/device/cuda/kernel.cuh"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/log2_alpha.cuh"
#include "renderer/raster/tile_cover.h"

namespace gs::cuda {

/// A floor that no log2 alpha reaches: the pixel has ended, or lies outside the picture.
inline constexpr float kEndedFloor = 1e30f;

/// The pixel of this thread in a block of 256: warp = sub-tile of 8 x 4, lane = 8 row + column.
struct ThreadPixel {
    int in_tile;           ///< 16 y + x
    std::uint32_t offset;  ///< in a plane of the picture
    float x, y;            ///< centre, px
    bool inside;
};
GS_DEVICE ThreadPixel thread_pixel(const FrameConstants& c, std::uint32_t tile) {
    const int lane = lane_id(), warp = warp_id();
    const int column = warp % 2 * kSubTileWidth + lane % kSubTileWidth,
              row = warp / 2 * kSubTileHeight + lane / kSubTileWidth;
    const int x = static_cast<int>(tile) % c.tiles_x * kTileSize + column,
              y = static_cast<int>(tile) / c.tiles_x * kTileSize + row;
    return {row * kTileSize + column,
            static_cast<std::uint32_t>(y) * static_cast<std::uint32_t>(c.width) +
                static_cast<std::uint32_t>(x),
            static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f,
            x < c.width && y < c.height};
}

/// A mean's x as the tile of the pixel at `pixel_x` sees it: nearest_copy().
GS_DEVICE float x_for_tile(float x, float pixel_x, float wrap) {
    constexpr float kSide = static_cast<float>(kTileSize);
    return nearest_copy(x, floorf(pixel_x * (1.0f / kSide)) * kSide + 0.5f * kSide, wrap);
}

/// Centres of a warp's first and last pixel, px.
struct SubTile {
    float left, top, right, bottom;
};
GS_DEVICE SubTile sub_tile_of(const FrameConstants& c, std::uint32_t tile, int warp) {
    const float left = static_cast<float>(static_cast<int>(tile) % c.tiles_x * kTileSize +
                                          warp % 2 * kSubTileWidth) +
                       0.5f,
                top = static_cast<float>(static_cast<int>(tile) / c.tiles_x * kTileSize +
                                         warp / 2 * kSubTileHeight) +
                      0.5f;
    return {left, top, left + static_cast<float>(kSubTileWidth - 1),
            top + static_cast<float>(kSubTileHeight - 1)};
}

/// Whether a pixel of the sub-tile can reach log2_alpha_min: the exact minimum of the form over the
/// rectangle. It lies at the centre when that is inside, else on an edge that faces the centre, and
/// along an edge it is a parabola's vertex clamped to the edge; both facing edges are tried.
/// Widened by what rounding can do to a pixel's own value: some 8 ulp of the largest terms of the
/// form, which are largest in a corner. About 50 instructions for 32 splats at a time.
GS_DEVICE bool reaches(const SubTile& r, const Splat& s, float log2_alpha_min) {
    const float left = r.left - s.x, right = r.right - s.x, top = r.top - s.y,
                bottom = r.bottom - s.y;
    const float x = fminf(fmaxf(0.0f, left), right), y = fminf(fmaxf(0.0f, top), bottom);
    const float y_at_x = fminf(fmaxf(__fdividef(-0.5f * s.b * x, s.c), top), bottom),
                x_at_y = fminf(fmaxf(__fdividef(-0.5f * s.b * y, s.a), left), right);
    const float largest = fmaxf(log2_alpha(s, x, y_at_x), log2_alpha(s, x_at_y, y));
    const float far_x = fmaxf(fabsf(left), fabsf(right)), far_y = fmaxf(fabsf(top), fabsf(bottom));
    const float terms =
        s.a * far_x * far_x + s.c * far_y * far_y;  // |b| far_x far_y is no more than both
    return !(largest + 1e-6f * (2.0f * terms + fabsf(s.l)) <
             log2_alpha_min);  // NaN is for the pixels to decide
}

/// What of depth is gathered. Each makes kernels of its own, so that nobody pays for what is not
/// asked for.
enum class Depths { none, expected, with_median };

/// What a pixel has gathered. `floor`: least log2 alpha that blends; kEndedFloor once it has ended.
struct PixelState {
    float t, red, green, blue, depth, floor;
    std::uint32_t contributors,
        looked;    ///< with counters only; looked: isects of the tile until it ended
    float median;  ///< depth of what brought T below one half; with_median only
};
struct PixelRules {
    float alpha_max, transmittance_min;
};
GS_DEVICE PixelRules pixel_rules(const FrameConstants& c) {
    return {c.rules.alpha_max, c.transmittance_min};
}

/// alpha T, rounded by itself so that it is the same number wherever it is used.
GS_DEVICE float weight_of(float alpha, float t) { return __fmul_rn(alpha, t); }
GS_DEVICE float transmittance_behind(float t, float weight) { return __fsub_rn(t, weight); }

/// One Gaussian over the pixel, front to back: nothing when its log2 alpha (`power`) stays below
/// the floor; else it is blended in, or the pixel ends before it, and the answer is true. Colour
/// and depth are finite (projection sees to it). `position`: of the isect within its tile. Straight
/// code, so that several in a row overlap: a weight of zero leaves T above its least, and adds
/// nothing.
template <Depths kDepths, bool kCounters>
GS_DEVICE bool blend_into(PixelState& s, float power, float red, float green, float blue,
                          float depth, const PixelRules& rules, std::uint32_t position) {
    const bool open = power >= s.floor;
    const float alpha = fminf(exp2f(power), rules.alpha_max);
    const float weight = open ? weight_of(alpha, s.t) : 0.0f;
    const float behind = transmittance_behind(s.t, weight);
    const bool goes_on = behind > rules.transmittance_min;
    s.floor = goes_on ? s.floor : kEndedFloor;
    if constexpr (kCounters) {
        s.looked = goes_on ? s.looked : position + 1;
        s.contributors += open && goes_on ? 1u : 0u;
    }
    if (goes_on) {
        if constexpr (kDepths == Depths::with_median)
            s.median =
                s.t >= kMedianTransmittance && behind < kMedianTransmittance ? depth : s.median;
        s.t = behind;
        s.red = fmaf(weight, red, s.red);
        s.green = fmaf(weight, green, s.green);
        s.blue = fmaf(weight, blue, s.blue);
        if constexpr (kDepths != Depths::none) s.depth = fmaf(weight, depth, s.depth);
    }
    return open;
}

}  // namespace gs::cuda
