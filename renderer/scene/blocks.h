// Blocks: a capture cut into parts of the ground that are trained one after another or on several
// machines, and merged again. Each Gaussian belongs to the block whose region its mean is in, so
// the merged scene has nothing twice. `train --blocks` cuts and merges; load_capture() chooses a
// block's points. The scheme of VastGaussian (Lin et al. 2024) and CityGaussian (Liu et al. 2024).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/expected.h"
#include "renderer/scene/capture.h"
#include "renderer/scene/gaussian_model.h"

namespace gs {

/// lo <= p < hi on every axis, world units less the capture's origin. Infinite where nothing is
/// beyond.
struct BlockRegion {
    static constexpr float kEndless = std::numeric_limits<float>::infinity();
    Vec3f lo{-kEndless, -kEndless, -kEndless}, hi{kEndless, kEndless, kEndless};
    /// False for NaN.
    bool holds(Vec3f p) const {
        return p.x >= lo.x && p.x < hi.x && p.y >= lo.y && p.y < hi.y && p.z >= lo.z && p.z < hi.z;
    }
};

struct CaptureBlock {
    BlockRegion own;                 ///< every place is in that of exactly one block
    BlockRegion wide;                ///< with a margin, which its neighbours train as well
    std::vector<std::size_t> views;  ///< of Capture::views, ascending: those that look through it
};
/// With `times` the margin.
BlockRegion widened(const CaptureBlock& block, float times);
/// Which of a capture's points a block's training starts from.
struct BlockPoints {
    BlockRegion wide;      ///< all that are in it
    std::size_t most = 0;  ///< and others, up to this many together or as many as are in `wide`
};

/// Cuts across the longer side of the ground until there are `count` blocks of about as many
/// points. A margin is a fifth of its block's width. A view belongs to a block when its camera is
/// in `wide`, or when a tenth of the points in its picture are behind or in `wide`: a Gaussian
/// anywhere on the way would be seen. Errors (usage): too few points for as many blocks; a block
/// that no training view sees.
Result<std::vector<CaptureBlock>> cut_into_blocks(const Capture& capture, std::size_t count);
/// Keeps the block's points. Of those not in `wide` it keeps some at even steps: without them
/// training would explain far things with near Gaussians.
void keep_points_of_block(const BlockPoints& block, std::vector<SparsePoint>& points);
/// The same for the same cameras, points and blocks alone.
std::uint64_t hash_of_cut(const Capture& capture, std::span<const CaptureBlock> blocks);

/// The Gaussians whose means `choose` takes, in their order.
GaussianModel chosen(const GaussianModel& model, const std::function<bool(Vec3f mean)>& choose);
/// One model of all of them, in order. All have the same SH degree and origin. Frees each as it is
/// copied.
GaussianModel joined(std::vector<GaussianModel> parts);
/// Where `model` has more than `most` Gaussians: without the least opaque outside `own` that are
/// too many, in their order. All in `own` stay.
GaussianModel without_faintest(GaussianModel model, const BlockRegion& own, std::size_t most);

}  // namespace gs
