// Cull: which blocks of 16 Gaussians this camera may see, by their bounding spheres.
#include <algorithm>
#include <cmath>

#include "renderer/raster/cpu/frame.h"
#include "renderer/raster/view_setup.h"

namespace gs::cpu {
namespace {

/// Tests block spheres in double against the view volume.
struct Frustum {
    const ViewSides<double> sides;
    const ViewCone<double>* cone;  ///< in place of the sides, or null
    const Camera& camera;
    double near_plane;

    bool may_show(const BlockBounds& b, double scale_modifier) const {
        if (!(b.radius >= 0.0f)) return std::isnan(b.radius);
        if (!std::isfinite(b.radius)) return true;
        const Vec3d center = camera.rotation * Vec3d{b.x, b.y, b.z} + camera.translation;
        const double radius = b.radius * std::max(1.0, scale_modifier);
        return cone != nullptr ? sphere_may_show(*cone, center, radius, near_plane)
                               : sphere_may_show(sides, center, radius, near_plane);
    }
};

}  // namespace

void cull_blocks(ParameterSource& source, const Camera& camera, const ProjectParams& params,
                 CpuState& state) {
    const std::size_t blocks = (source.count() + kBlock - 1) / kBlock;
    const std::span<const BlockBounds> bounds = source.bounds();
    state.candidate_blocks.resize_discard(blocks);
    std::size_t kept = 0;
    const Frustum frustum{view_sides(camera), params.lens ? &params.cone : nullptr, camera,
                          static_cast<double>(params.rules.near_plane)};
    for (std::size_t block = 0; block < blocks; ++block)
        if (bounds.size() < blocks || frustum.may_show(bounds[block], params.scale_modifier))
            state.candidate_blocks[kept++] = static_cast<std::uint32_t>(block);
    state.candidate_blocks.resize_discard(kept);
}

}  // namespace gs::cpu
