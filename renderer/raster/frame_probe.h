// FrameProbe: what a frame consisted of between its stages, the same for every backend: projected
// Gaussians and the tiles' lists. Filled on request by Rasterizer::probe() from what the last
// forward() left; captured steps (trainer/replay/step_replay.h) and the verification of frames
// (app/verify) look at it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"

namespace gs {

/// Planes of FrameProbe::splats. log2 alpha = l - (a dx^2 + b dx dy + c dy^2), d = pixel centre -
/// (x, y).
enum SplatPlane : int {
    kSplatX,  ///< px
    kSplatY,
    kSplatA,  ///< 1/px^2, conic times log2(e), a and c halved
    kSplatB,
    kSplatC,
    kSplatL,  ///< log2 opacity, compensation included
    kSplatRed,
    kSplatGreen,
    kSplatBlue,
    kSplatDepth,  ///< camera z
    kSplatPlanes
};

struct FrameProbe {
    Buffer<std::uint32_t> rows;            ///< [visible] rows of the model, ascending
    Buffer<float> splats;                  ///< [kSplatPlanes][visible]
    Buffer<std::uint32_t> tile_begin;      ///< [tiles + 1] first isect of each tile
    Buffer<std::uint32_t> row_from_isect;  ///< [isects] each tile's list, front to back

    std::size_t visible() const { return rows.size(); }
    float splat(int plane, std::size_t i) const {
        return splats[static_cast<std::size_t>(plane) * rows.size() + i];
    }
};

}  // namespace gs
