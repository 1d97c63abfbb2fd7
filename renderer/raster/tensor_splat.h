// One splat of flat arrays as tiles and pixels see it, and what its sums over pixels say: what
// cpu/tensor_blend.cpp and cuda/tensor_blend.cu both do. Host and device.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "renderer/raster/tensor_ops.h"

namespace gs::tensor {

inline constexpr float kLeastAlpha32 = 1.0f / 255;
inline constexpr float kLog2OfE = 1.4426950408889634f;

/// Rises with the depth: what splats are sorted by.
GS_HD inline std::uint32_t ordered_bits(float depth) {
    const auto bits = std::bit_cast<std::uint32_t>(depth);
    return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

/// At d from the mean, log2 alpha = log2_opacity - (s dx + r dy)^2 - (w dy)^2.
struct FlatSplat {
    Vec2f mean;
    Sym2<float> conic;
    float s, r, w, log2_opacity;
    float slope_x, slope_y;  ///< -xy / xx, -xy / yy of the conic
    float limit;             ///< 2 ln(opacity / least alpha)
    Vec2f extent;            ///< half sides of its box, px
};
/// False: it draws nothing.
GS_HD inline bool flat_splat(const BlendInput& in, std::size_t e, FlatSplat& out) {
    constexpr double kHalfLog2e = 0.5 * kLog2OfE;
    constexpr float kFar = 1e7f;  // px
    const float x = in.means2d[2 * e], y = in.means2d[2 * e + 1];
    const double xx = in.conics[3 * e], xy = in.conics[3 * e + 1], yy = in.conics[3 * e + 2],
                 opacity = in.opacities[e];
    if (in.radii != nullptr && !(in.radii[2 * e] > 0 && in.radii[2 * e + 1] > 0)) return false;
    if (!(std::abs(x) < kFar && std::abs(y) < kFar && xx > 1e-30 && yy > 1e-30 && xx < 1e30 &&
          yy < 1e30 && opacity >= kLeastAlpha32 && std::abs(xy) < 1e30))
        return false;
    // Rounding of the conic may have opened the ellipse of a long needle.
    const double det = std::max(xx * yy - xy * xy, 0x1p-24 * xx * yy),
                 log_opacity = std::log(std::min(opacity, 1e30)),
                 limit = 2 * (log_opacity - std::log(static_cast<double>(kLeastAlpha32)));
    const double s = std::sqrt(kHalfLog2e * xx);
    out.mean = {x, y};
    out.conic = {in.conics[3 * e], in.conics[3 * e + 1], in.conics[3 * e + 2]};
    out.s = static_cast<float>(s);
    out.r = static_cast<float>(kHalfLog2e * xy / s);
    out.w = static_cast<float>(std::sqrt(kHalfLog2e * det / xx));
    out.slope_x = static_cast<float>(-xy / xx);
    out.slope_y = static_cast<float>(-xy / yy);
    out.log2_opacity = static_cast<float>(kLog2OfE * log_opacity);
    out.limit = static_cast<float>(limit);
    out.extent = {static_cast<float>(std::min(std::sqrt(limit * yy / det), 1e9)),
                  static_cast<float>(std::min(std::sqrt(limit * xx / det), 1e9))};
    return true;
}

/// Sums over the pixels of one splat in one tile; behind them one for each channel: of weight *
/// d loss / d channel. v = d loss / d ln alpha.
enum IsectSum : std::size_t {
    kV,
    kVx,
    kVy,
    kVxx,
    kVxy,
    kVyy,
    kPullX,  ///< of |v d log2 alpha / d mean|
    kPullY,
    kChannels,
};
/// An entry's gradients but that of its channels, from sums over its tiles.
GS_HD inline void put_shape(const BlendInput& in, std::size_t e, const double* sum,
                            const BlendGradients& out) {
    const double xx = in.conics[3 * e], xy = in.conics[3 * e + 1], yy = in.conics[3 * e + 2];
    const auto put = [](float* to, std::initializer_list<double> values) {
        for (const double value : values) *to++ = static_cast<float>(value);
    };
    // ln alpha = ln opacity - 0.5 (xx dx^2 + yy dy^2) - xy dx dy, d = pixel - mean.
    put(out.means2d + 2 * e, {xx * sum[kVx] + xy * sum[kVy], xy * sum[kVx] + yy * sum[kVy]});
    put(out.conics + 3 * e, {-0.5 * sum[kVxx], -sum[kVxy], -0.5 * sum[kVyy]});
    put(out.opacities + e, {sum[kV] / static_cast<double>(in.opacities[e])});
    constexpr double kLn2 = 0.693147180559945309;
    if (out.absolute != nullptr)
        put(out.absolute + 2 * e, {kLn2 * sum[kPullX], kLn2 * sum[kPullY]});
}

}  // namespace gs::tensor
