// Cover: the tiles of a block of 16 projected Gaussians. A lane is a Gaussian, a step a row of each
// one's box of tiles; the arithmetic is that of math::ellipse_reach and tile_range, operation by
// operation, so every backend lists the same tiles.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/cover.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/tile_cover.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using CoverLanes = hn::CappedTag<float, kBlock>;

/// The range of dx that lanes i .. reach between dy_lo and dy_hi, as math::ellipse_reach; lo > hi:
/// none.
template <class V>
HWY_INLINE void reach_of(const ProjectedBlock& b, std::size_t i, V dy_lo, V dy_hi, V& left,
                         V& right) {
    const CoverLanes d;
    const auto xx = hn::Load(d, b.conic_xx + i), xy = hn::Load(d, b.conic_xy + i),
               yy = hn::Load(d, b.conic_yy + i), extent_y = hn::Load(d, b.extent_y + i),
               zero = hn::Zero(d);
    const auto lo = hn::Max(dy_lo, hn::Neg(extent_y)), hi = hn::Min(dy_hi, extent_y);
    const auto det = hn::Sub(hn::Mul(xx, yy), hn::Mul(xy, xy)),
               inverse = hn::Div(hn::Set(d, 1.0f), xx), minus_xy = hn::Neg(xy),
               room = hn::Mul(hn::Load(d, b.limit + i), xx),
               tilt = hn::Mul(hn::Div(minus_xy, yy), hn::Load(d, b.extent_x + i));
    const auto half_width = [&](V dy) {
        return hn::Sqrt(hn::Max(zero, hn::Sub(room, hn::Mul(hn::Mul(det, dy), dy))));
    };
    const auto right_dy = hn::Min(hn::Max(tilt, lo), hi),
               left_dy = hn::Min(hn::Max(hn::Neg(tilt), lo), hi);
    const auto some = hn::Le(lo, hi);
    right = hn::IfThenElse(
        some, hn::Mul(hn::Add(hn::Mul(minus_xy, right_dy), half_width(right_dy)), inverse),
        hn::Set(d, -1.0f));
    left = hn::IfThenElse(
        some, hn::Mul(hn::Sub(hn::Mul(minus_xy, left_dy), half_width(left_dy)), inverse),
        hn::Set(d, 1.0f));
}

/// As ellipse_row, of row rows[lane] + `down`: by lane tiles [first, end).
void CoverRow(const ProjectedBlock& b, const std::int32_t* rows, int down, int tiles_x,
              std::int32_t* tile_first, std::int32_t* tile_end) {
    const CoverLanes d;
    const hn::RebindToSigned<CoverLanes> di;
    const auto size = hn::Set(d, static_cast<float>(kTileSize)), half = hn::Set(d, 0.5f),
               zero = hn::Zero(d), limit = hn::Set(d, static_cast<float>(tiles_x * kTileSize));
    const auto one = hn::Set(di, 1);
    constexpr int kShift = std::countr_zero(static_cast<unsigned>(kTileSize));
    for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
        const auto x = hn::Load(d, b.x + i),
                   slack = hn::Add(
                       hn::Set(d, 0.01f),
                       hn::Mul(hn::Set(d, 1e-4f),
                               hn::Add(hn::Load(d, b.extent_x + i), hn::Load(d, b.extent_y + i))));
        const auto row = hn::ConvertTo(d, hn::Add(hn::LoadU(di, rows + i), hn::Set(di, down)));
        const auto top = hn::Sub(hn::Add(hn::Mul(row, size), half), hn::Load(d, b.y + i));
        auto left = zero, right = zero;
        reach_of(b, i, hn::Sub(top, slack),
                 hn::Add(hn::Add(top, hn::Set(d, static_cast<float>(kTileSize - 1))), slack), left,
                 right);
        // tile_range().
        const auto lo = hn::Sub(hn::Add(x, left), slack), hi = hn::Add(hn::Add(x, right), slack);
        const auto from = hn::Min(hn::Max(hn::Sub(lo, half), zero), limit),
                   to = hn::Min(hn::Max(hn::Add(hi, half), zero), limit);
        auto first = hn::ConvertTo(di, from);
        first = hn::Add(first, hn::IfThenElseZero(
                                   hn::RebindMask(di, hn::Lt(hn::ConvertTo(d, first), from)), one));
        const auto end = hn::ConvertTo(di, to);
        const auto some = hn::And(hn::Gt(end, first), hn::RebindMask(di, hn::Le(left, right)));
        hn::Store(hn::IfThenElseZero(some, hn::ShiftRight<kShift>(first)), di, tile_first + i);
        hn::Store(hn::IfThenElseZero(some, hn::Add(hn::ShiftRight<kShift>(hn::Sub(end, one)), one)),
                  di, tile_end + i);
    }
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(CoverRow);
namespace {

/// Rows of tiles taken by vectors; Gaussians that have more take the others one by one, and all of
/// them where the picture repeats.
constexpr int kRowsTogether = 6;

struct BlockBoxes {
    TileBox box[kBlock];
    alignas(64) std::int32_t first_row[kBlock] = {};
    std::uint32_t exact = 0;  ///< bit: lane whose rows are cut to the ellipse
    int rows = 0;             ///< most of an exact lane
};
BlockBoxes boxes_of(const ProjectParams& params, const ProjectedBlock& b, int tiles_x,
                    int tiles_y) {
    BlockBoxes out;
    for (std::uint32_t lanes = b.mask; lanes != 0; lanes &= lanes - 1) {
        const std::size_t lane = static_cast<std::size_t>(std::countr_zero(lanes));
        const TileBox box =
            tile_box(params.rules, {b.x[lane], b.y[lane]}, {b.extent_x[lane], b.extent_y[lane]},
                     {b.box_x[lane], b.box_y[lane]}, tiles_x, tiles_y, params.wrap);
        out.box[lane] = box;
        out.first_row[lane] = box.rows.first;
        if (box.empty() || !params.rules.exact_tiles || !box.several()) continue;
        out.exact |= 1u << lane;
        out.rows = std::max(out.rows, box.rows.end - box.rows.first);
    }
    return out;
}

}  // namespace

void cover_block(const ProjectParams& params, ProjectedBlock& block, std::vector<TileSpan>& spans,
                 Coverage* coverage) {
    const int tiles_x = (static_cast<int>(params.width) + kTileSize - 1) / kTileSize,
              tiles_y = (static_cast<int>(params.height) + kTileSize - 1) / kTileSize;
    const BlockBoxes boxes = boxes_of(params, block, tiles_x, tiles_y);
    alignas(64) std::int32_t first[kRowsTogether][kBlock], end[kRowsTogether][kBlock];
    const int together = params.wrap == 0.0f ? std::min(boxes.rows, kRowsTogether) : 0;
    for (int down = 0; down < together; ++down) HWY_DYNAMIC_DISPATCH(CoverRow)
    (block, boxes.first_row, down, tiles_x, first[down], end[down]);
    for (std::uint32_t lanes = block.mask; lanes != 0; lanes &= lanes - 1) {
        const std::size_t lane = static_cast<std::size_t>(std::countr_zero(lanes));
        const TileBox& box = boxes.box[lane];
        Coverage& out = coverage[lane];
        out = {static_cast<std::uint32_t>(spans.size()), static_cast<std::uint16_t>(box.rows.first),
               0, 0, 0};
        const int count = box.empty() ? 0 : box.rows.end - box.rows.first;
        for (int down = 0; down < count; ++down) {
            TileRange span = box.columns;
            if ((boxes.exact >> lane & 1u) != 0)
                span = down < together
                           ? TileRange{first[down][lane], end[down][lane]}
                           : ellipse_row(
                                 {block.conic_xx[lane], block.conic_xy[lane], block.conic_yy[lane]},
                                 block.limit[lane], {block.x[lane], block.y[lane]},
                                 {block.extent_x[lane], block.extent_y[lane]},
                                 box.rows.first + down, tiles_x, params.wrap);
            spans.push_back(
                {static_cast<std::uint16_t>(span.first), static_cast<std::uint16_t>(span.end)});
            out.isects += static_cast<std::uint32_t>(span.end - span.first);
        }
        out.rows = static_cast<std::uint16_t>(count);
        if (out.isects != 0) continue;
        spans.resize(out.first);
        block.mask &= ~(1u << lane);
    }
}

}  // namespace gs::cpu
#endif
