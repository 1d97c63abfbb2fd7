// Projection by the unscented transform and its backward, for a block of 16 Gaussians: as
// project.cpp and project_backward.cpp, in a file of its own because it takes long to compile.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "renderer/raster/cpu/project_unscented.cpp"
#include <hwy/foreach_target.h>
// foreach_target first
#include <hwy/highway.h>

#include "renderer/raster/cpu/project_through.h"

HWY_BEFORE_NAMESPACE();
namespace gs::cpu::HWY_NAMESPACE {

HWY_FLATTEN void ProjectBlockUnscented(const ProjectParams& params, BlockView geometry,
                                       std::size_t lanes, ProjectedBlock& out) {
    project_through(*params.lens, params, geometry, lanes, out);
}
HWY_FLATTEN void ProjectBlockBackwardUnscented(const ProjectParams& params, BlockView geometry,
                                               BlockView sh, const SplatGradients& in,
                                               std::uint32_t mask, BlockGradients& out) {
    through_camera_backward(*params.lens, params, geometry, sh, in, mask, out);
}

}  // namespace gs::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gs::cpu {
HWY_EXPORT(ProjectBlockUnscented);
HWY_EXPORT(ProjectBlockBackwardUnscented);
void project_block_unscented(const ProjectParams& params, BlockView geometry, std::size_t lanes,
                             ProjectedBlock& out) {
    HWY_DYNAMIC_DISPATCH(ProjectBlockUnscented)(params, geometry, lanes, out);
}
void project_block_backward_unscented(const ProjectParams& params, BlockView geometry, BlockView sh,
                                      const SplatGradients& in, std::uint32_t mask,
                                      BlockGradients& out) {
    HWY_DYNAMIC_DISPATCH(ProjectBlockBackwardUnscented)(params, geometry, sh, in, mask, out);
}
}  // namespace gs::cpu
#endif
