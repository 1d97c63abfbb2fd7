// PhotoBlocks: a photo's errors and holes summed over square blocks, kept for every photo of a
// capture during the search; and the regions that bad blocks beside each other make.
#pragma once

#include <span>
#include <vector>

#include "renderer/problems/problem.h"
#include "renderer/raster/rasterizer.h"
#include "renderer/scene/capture.h"

namespace gs {

struct PhotoBlock {
    float pixels = 0;  ///< that count
    float error = 0;   ///< sum of errors over them
    float square = 0;  ///< sum of squared differences over them and the channels
    float alpha = 0;   ///< sum
    float bare = 0;    ///< pixels of a hole: see kHoleAlpha
};
struct PhotoBlocks {
    std::size_t view = 0;
    int width = 0, height = 0;  ///< of the photo
    int side = 16;              ///< pixels across a block
    int columns = 0, rows = 0;
    std::vector<PhotoBlock> blocks;  ///< [rows][columns]
};
/// A 48th of the longer side, 8 pixels at least.
int block_side(int width, int height);
/// `error`: photo_error() of it. `background`: null where a sky is drawn in its place, which is
/// something that the model shows.
PhotoBlocks sum_blocks(const RenderResult& drawn, const ImageF& error, const View& view,
                       std::size_t index, const Vec3f* background);

/// The mean error of the block that 95 % of all others are better than, and kLeastRegionError at
/// least: what is worse is part of a region. Blocks that are masked for more than three quarters
/// are left out here and below.
double region_limit(std::span<const PhotoBlocks> photos);
inline constexpr double kLeastRegionError = 0.02;

/// Blocks of at least `limit` that share a side are one region, over all photos, the largest sum
/// of errors first, `most` at most. Without crops.
std::vector<PhotoRegion> bad_regions(std::span<const PhotoBlocks> photos, double limit,
                                     std::size_t most);
/// The same of blocks half of whose pixels are bare: less than half of the light stops there
/// (kHoleAlpha) though the photo shows something else than the background (by kLeastContent, mean
/// over the channels). The most bare pixels first.
std::vector<PhotoRegion> holes(std::span<const PhotoBlocks> photos, std::size_t most);
inline constexpr float kHoleAlpha = 0.5f, kLeastContent = 0.04f;

}  // namespace gs
