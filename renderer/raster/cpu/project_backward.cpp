// The backward of projection for a block of 16 Gaussians: renderer/math run on packs of floats,
// flattened as projection is (project.cpp).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/project_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <hwy/highway.h>

#include <bit>

#include "renderer/math/unscented.h"
#include "renderer/raster/cpu/project_through.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

HWY_FLATTEN void ProjectBlockBackward(const ProjectParams& params, BlockView geometry, BlockView sh,
                                      const SplatGradients& in, std::uint32_t mask,
                                      BlockGradients& out) {
    through_camera_backward(broadcast(params.camera), params, geometry, sh, in, mask, out);
}
HWY_FLATTEN void ProjectBlockBackwardByLens(const ProjectParams& params, BlockView geometry,
                                            BlockView sh, const SplatGradients& in,
                                            std::uint32_t mask, BlockGradients& out) {
    through_camera_backward(math::lens_camera_cast<Pack>(*params.lens), params, geometry, sh, in,
                            mask, out);
}

HWY_FLATTEN void ProjectBlockBackwardUnscented(const ProjectParams& params, BlockView geometry,
                                               BlockView sh, const SplatGradients& in,
                                               std::uint32_t mask, BlockGradients& out) {
    const math::UnscentedCamera<Pack> camera{math::lens_camera_cast<Pack>(*params.lens)};
    through_camera_backward(camera, params, geometry, sh, in, mask, out);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(ProjectBlockBackward);
HWY_EXPORT(ProjectBlockBackwardByLens);
HWY_EXPORT(ProjectBlockBackwardUnscented);
void project_block_backward(const ProjectParams& params, BlockView geometry, BlockView sh,
                            const SplatGradients& in, std::uint32_t mask, BlockGradients& out) {
    if (params.lens == nullptr)
        HWY_DYNAMIC_DISPATCH(ProjectBlockBackward)(params, geometry, sh, in, mask, out);
    else if (params.unscented)
        HWY_DYNAMIC_DISPATCH(ProjectBlockBackwardUnscented)(params, geometry, sh, in, mask, out);
    else
        HWY_DYNAMIC_DISPATCH(ProjectBlockBackwardByLens)(params, geometry, sh, in, mask, out);
    // SH gradients of lanes that were not visible are zero times the basis: NaN where the mean is.
    // (Selecting in the kernel trips g++ 12.)
    for (std::uint32_t hidden = ~mask & 0xFFFFu; hidden != 0; hidden &= hidden - 1)
        for (int p = kSh0; p < plane_count(params.sh_degree); ++p)
            out.planes[p][std::countr_zero(hidden)] = 0.0f;
}
}  // namespace gs::cpu
#endif
