// Which Gaussians a tile's rays may touch, front to back. Between rays.h's tiles and trace.cpp.
#pragma once

#include "renderer/rays/rays.h"

namespace gs {

/// A Gaussian ready to be met by rays.
struct RayGaussian {
    float whitening[9];  ///< M by rows (math/along_ray.h)
    Vec3f mean;          ///< world
    float log2_opacity;
    std::uint32_t row;  ///< of the model
};
struct RayLists {
    std::vector<RayGaussian> gaussians;  ///< front to back
    std::vector<std::uint32_t> begin;    ///< [tile + 1] into `of_tile`
    Buffer<std::uint32_t> of_tile;       ///< indices of gaussians
};
RayLists list_gaussians(const GaussianModel& model, const RayTiles& tiles, const RayOrder& order,
                        const RasterRules& rules);

}  // namespace gs
