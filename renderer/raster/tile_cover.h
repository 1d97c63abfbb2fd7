// Which tiles a projected Gaussian touches: the profile's box of tiles, and each row of it cut to
// the ellipse; in a picture that repeats sideways, also around its seam. Host and device; every
// backend uses it, so all of them list the same isects.
#pragma once

#include "renderer/math/tiles.h"
#include "renderer/raster/rasterizer.h"

namespace gs {

/// Half sizes of the box that chooses tiles, px, by the profile. `exact`: of { alpha >= alpha_min
/// }.
template <class T>
GS_HD Vec2<T> profile_box(const RasterRules& rules, Sym2<T> blurred, Vec2<T> exact) {
    using math::ceil, math::max, math::sqrt;
    if (rules.extent_sigma <= 0.0f) return exact;
    const T sigma(rules.extent_sigma);
    if (!rules.square_extent) return {sigma * sqrt(blurred.xx), sigma * sqrt(blurred.yy)};
    // Inria: ceil(3 sqrt(largest eigenvalue)), with its guard of 0.1 under the root.
    const T mid = T(0.5f) * (blurred.xx + blurred.yy),
            det = blurred.xx * blurred.yy - blurred.xy * blurred.xy;
    const T largest = mid + sqrt(max(mid * mid - det, T(0.1f)));
    const T radius = ceil(sigma * sqrt(largest));
    return {radius, radius};
}

/// Tiles [first, end) along one axis. In a picture that repeats sideways `end` may be behind the
/// last column, by less than all of them: the columns continue from the first one.
struct TileRange {
    int first, end;
};
struct TileBox {
    TileRange columns, rows;
    GS_HD bool empty() const { return columns.first >= columns.end || rows.first >= rows.end; }
    GS_HD bool several() const {
        return columns.end - columns.first > 1 || rows.end - rows.first > 1;
    }
};

/// First and one past the last tile of [lo, hi] px whose pixel centres the range can contain,
/// within [0, tiles).
GS_HD inline TileRange tile_range(float lo, float hi, int tiles) {
    // Rounding up and down by truncation of numbers made positive: the CPU's baseline instruction
    // set has nothing faster.
    const float limit = static_cast<float>(tiles * kTileSize);
    const float from = math::min(math::max(lo - 0.5f, 0.0f), limit),
                to = math::min(math::max(hi + 0.5f, 0.0f), limit);
    int first = static_cast<int>(from);
    first += static_cast<float>(first) < from ? 1 : 0;
    const int end =
        static_cast<int>(to);  // one past the last pixel whose centre is at or before hi
    return end <= first ? TileRange{0, 0} : TileRange{first / kTileSize, (end - 1) / kTileSize + 1};
}

/// Rounding must never lose a pixel: widen by a little more than float error can move an edge, px.
GS_HD inline float edge_slack(Vec2f extent) {
    return math::add_rn(0.01f, math::mul_rn(1e-4f, math::add_rn(extent.x, extent.y)));
}

/// tile_range() of columns in a picture that repeats after `wrap` px, its width (0: it does not):
/// each tile once, however far [lo, hi] goes around. The range's middle is in the picture.
GS_HD inline TileRange column_range(float lo, float hi, int tiles, float wrap) {
    const TileRange here = tile_range(lo, hi, tiles);
    const bool left = lo<0.0f, right = hi> wrap;
    if (wrap == 0.0f || !(left || right)) return here;
    const TileRange all{0, tiles};
    if (left && right) return all;
    // What lies beside the picture, and comes in from its other side.
    const float by = left ? wrap : -wrap;
    const TileRange there = tile_range(math::add_rn(lo, by), math::add_rn(hi, by), tiles);
    if (there.first >= there.end) return here;
    if (here.first >= here.end) return there;
    const TileRange from = left ? there : here, to = left ? here : there;
    return from.first < to.end ? all : TileRange{from.first, tiles + to.end};
}

/// A mean's x as the tile with this middle sees it, px: in a picture that repeats after `wrap` px
/// the copy nearest to it; with 0 the mean's own, to the bit. Both are in the picture.
GS_HD inline float nearest_copy(float x, float middle, float wrap) {
    const float from_middle = x - middle, half = 0.5f * wrap;
    return x + (from_middle > half ? -wrap : from_middle < -half ? wrap : 0.0f);
}

/// Tiles of the 3DGS paper's square, from trunc((p - r) / 16) to trunc((p + r + 15) / 16); its
/// pixel centres are whole.
GS_HD inline TileRange inria_range(float p, float radius, int tiles) {
    const float size = static_cast<float>(kTileSize), top = static_cast<float>(tiles);
    return {static_cast<int>(math::min(math::max((p - 0.5f - radius) / size, 0.0f), top)),
            static_cast<int>(
                math::min(math::max((p - 0.5f + radius + size - 1.0f) / size, 0.0f), top))};
}

/// The profile's box in tiles. `extent`: half sizes of { alpha >= alpha_min }; `box`: half sizes by
/// the profile, px; `wrap` as for column_range(), where squares are boxes as others are.
GS_HD inline TileBox tile_box(const RasterRules& rules, Vec2f mean, Vec2f extent, Vec2f box,
                              int tiles_x, int tiles_y, float wrap = 0.0f) {
    if (rules.square_extent && wrap == 0.0f)
        return {inria_range(mean.x, box.x, tiles_x), inria_range(mean.y, box.y, tiles_y)};
    const float slack = edge_slack(extent), x = box.x + slack, y = box.y + slack;
    return {column_range(mean.x - x, mean.x + x, tiles_x, wrap),
            tile_range(mean.y - y, mean.y + y, tiles_y)};
}

/// The tiles of row `row` that the ellipse reaches. `limit`: 2 ln(opacity / alpha_min). The same
/// answer to the same numbers wherever it is compiled: who counts tiles and who lists them agree.
GS_HD inline TileRange ellipse_row(Sym2<float> conic, float limit, Vec2f mean, Vec2f extent,
                                   int row, int tiles_x, float wrap = 0.0f) {
    const float slack = edge_slack(extent);
    const float top = math::sub_rn(math::add_rn(static_cast<float>(row * kTileSize), 0.5f), mean.y);
    const math::Interval reach = math::ellipse_reach(
        conic, limit, extent, math::sub_rn(top, slack),
        math::add_rn(math::add_rn(top, static_cast<float>(kTileSize - 1)), slack));
    if (!(reach.lo <= reach.hi)) return {0, 0};
    return column_range(math::sub_rn(math::add_rn(mean.x, reach.lo), slack),
                        math::add_rn(math::add_rn(mean.x, reach.hi), slack), tiles_x, wrap);
}

}  // namespace gs
