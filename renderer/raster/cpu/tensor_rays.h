// What blending along rays has in place of ellipses (tensor_blend.cpp): Gaussians as rays meet
// them, the tiles of their boxes, the rays of a tile's pixels, and the way back to the Gaussians.
// Private to raster/cpu.
#pragma once

#include <vector>

#include "renderer/raster/cpu/tensor_tile.h"
#include "renderer/raster/tensor_view.h"

namespace gs::tensor {

/// The Gaussian of an entry.
inline std::size_t row_of(const RayInput& rays, std::size_t e) {
    const std::size_t n = rays.sizes.gaussians;
    return e / n / rays.sizes.cameras * n + e % n;
}
/// Of an entry. False: it draws nothing.
bool set_body(const BlendInput& in, std::size_t e, cpu::RayBody& body);
/// Adds a span for each row of tiles that the box of the entry's radii touches.
cpu::Coverage box_coverage(const BlendInput& in, std::size_t e, const cpu::CpuState& state,
                           std::vector<cpu::TileSpan>& spans);
/// Of a tile's pixels, in squares as tile_squares.h has them.
void set_rays(const math::LensCamera<double>& view, const BlendInput& in, std::uint32_t tile,
              int tiles_x, cpu::PixelRays& out);

/// Of one Gaussian over images: with respect to M (origin - mean), and to M by rows.
struct BodySums {
    double arm[3], whitening[9];
};
/// Of one view, with respect to its rays: to the origin o, and the sums of o and of the direction d
/// times what each has, by rows.
struct PoseSums {
    double origin[3], turn[9];
};
/// Adds what a Gaussian's sums over one image say of the image's rays.
void add_to_view(const RayInput& rays, std::size_t row, const BodySums& sums, PoseSums& view);
/// Gradients of a view's matrix, from its sums over parts of the Gaussians.
void put_view(const RayInput& rays, std::size_t view, std::span<const PoseSums> parts,
              float* viewmats);
/// Gradients of one Gaussian.
void put_body_row(const RayInput& rays, std::size_t row, const BodySums& sums,
                  const BlendGradients& out);

}  // namespace gs::tensor
