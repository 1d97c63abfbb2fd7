// Which Gaussians a tile's rays may touch. Between rays.h's tiles and those who trace.
#pragma once

#include "renderer/rays/rays.h"

namespace gs {

/// A Gaussian ready to be met by rays.
struct RayGaussian {
    float whitening[9];  ///< M by rows (math/along_ray.h)
    Vec3f mean;          ///< world
    float log2_opacity;
    float depth;        ///< what it is ordered by
    float reach;        ///< farther from its mean no ray sees it, world units
    std::uint32_t row;  ///< of the model
};
inline constexpr std::uint32_t kListChunk = 2048;
struct RayLists {
    std::vector<std::vector<RayGaussian>>
        chunks;                        ///< in the model's order, kListChunk at most each
    std::vector<std::uint32_t> begin;  ///< [tile + 1] into `of_tile`
    Buffer<std::uint32_t> of_tile;     ///< for at(); trace_rays() sorts each tile's front to back
    std::size_t visible = 0;

    const RayGaussian& at(std::uint32_t i) const { return chunks[i / kListChunk][i % kListChunk]; }
};
RayLists list_gaussians(const GaussianModel& model, const RayTiles& tiles, const RayOrder& order,
                        const RasterRules& rules);

}  // namespace gs
