// A Gaussian as the rays of one tile meet it, and what trace.cpp and trace_backward.cpp hand to
// their vector code, which is compiled once an instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/vec.h"
#include "renderer/raster/ray_form.h"
#include "renderer/rays/lists.h"

namespace gs {
namespace cpu {

/// See the top of trace.cpp.
struct MetGaussian : RayForm {
    float rank;  ///< 1 + its place in the tile's list
    Vec3f signal;
    float reach;            ///< farther from its mean no ray sees it
    std::uint32_t vectors;  ///< bit: vector of 16 rays that may come so near
};
inline constexpr std::size_t kTileVectors = 8;
/// The rays of one tile. Planes of directions and origins lie `stride` apart, those of the state
/// `slots`: floor (least log2 alpha that counts), transmittance, hit, median, rank of the last
/// Gaussian blended, signal x y z.
struct TileRays {
    std::size_t slots, stride;
    const float *directions, *origins;
    float* state;
    bool parted, signals;
};

}  // namespace cpu

/// Gaussians taken from a list at once.
inline constexpr std::size_t kMetPiece = 64;

/// Prepares the Gaussians of one tile's list for its rays.
class TileMeets {
  public:
    TileMeets(const RayTiles& tiles, std::size_t tile);
    /// Of the tile's rays, in whole vectors.
    std::size_t slots() const { return slots_; }
    cpu::MetGaussian met(const RayGaussian& g) const;

  private:
    /// The middle ray of 16 that share a vector, and how far they part from it. As RayTiles has
    /// them: what each is more than the tile's middle ray.
    struct VectorRays {
        Vec3f direction, origin;
        float directions_apart = 0, origins_apart = 0;
    };
    static VectorRays vector_rays(const RayTiles& tiles, std::size_t first, std::size_t count);
    bool comes_near(const VectorRays& v, const cpu::MetGaussian& g) const;

    const RayTile& tile_;
    const std::size_t slots_;
    Vec3f direction_;
    std::array<VectorRays, cpu::kTileVectors> vectors_;
};

}  // namespace gs
