// The kernels that project, and which of them a frame takes.
#include "renderer/device/cuda/launch.h"
#include "renderer/raster/cuda/project_chunk.cuh"

namespace gs::cuda {
namespace {

template <bool kLazy, bool kTinted, bool kHalf>
GS_KERNEL(kChunk, 3)
void project(ProjectParams p) {
    project_chunk<math::Pinhole<float>, kLazy, kTinted, kHalf>(p);
}
template <bool kLazy, bool kTinted>
GS_KERNEL(kChunk, 2)
void project_lens(ProjectParams p) {
    project_chunk<math::LensCamera<float>, kLazy, kTinted, false>(p);
}
template <bool kTinted>
GS_KERNEL(kChunk, 3)
void project_coded(ProjectParams p) {
    project_chunk<math::Pinhole<float>, true, kTinted, false, true>(p);
}
template <bool kTinted>
GS_KERNEL(kChunk, 2)
void project_lens_coded(ProjectParams p) {
    project_chunk<math::LensCamera<float>, true, kTinted, false, true>(p);
}

}  // namespace

void run_project(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
                 const ModelView& model, const TintView& tint, const HalfColors& colors) {
    const ProjectParams params{model,
                               a.constants,
                               a.counts,
                               a.splats,
                               a.coverage,
                               a.depth_of_slot,
                               a.gaussian_from_slot,
                               a.isects_of_slot,
                               a.chunk_slots,
                               a.isect_total,
                               tint,
                               colors};
    const bool lazy = model.lazy.any(), half = colors.words != nullptr;
    CHECK(!(half && (lazy || limits.lens)), "rounded colours of a model that moves, or by a lens");
    static constexpr ProjectKernel kernels[7][2] = {
        {project<false, false, false>, project<false, true, false>},
        {project<true, false, false>, project<true, true, false>},
        {project<false, false, true>, project<false, true, true>},
        {project_lens<false, false>, project_lens<false, true>},
        {project_lens<true, false>, project_lens<true, true>},
        {project_coded<false>, project_coded<true>},
        {project_lens_coded<false>, project_lens_coded<true>}};
    const int kind = half                 ? 2
                     : model.lazy.coded() ? (limits.lens ? 6 : 5)
                                          : (lazy ? 1 : 0) + (limits.lens ? 3 : 0);
    launch(stream, "project", Grid{limits.chunks(), kChunk},
           limits.unscented ? unscented_kernel(model.lazy, tint.count > 0)
                            : kernels[kind][tint.count > 0],
           params);
}
void run_project(const Stream& stream, const FrameLimits& limits, const FrameArrays& a,
                 const ModelView& model, const TintView& tint) {
    run_project(stream, limits, a, model, tint, {});
}

}  // namespace gs::cuda
