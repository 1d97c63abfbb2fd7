// Projection by the unscented transform (math/unscented.h): seven points of each Gaussian through
// the lens, more instructions than memory for once. In a file of its own, as it takes long to
// compile.
#include "renderer/raster/cuda/project_chunk.cuh"

namespace gs::cuda {
namespace {

template <bool kLazy, bool kTinted>
GS_KERNEL(kChunk, 2)
void project_unscented(ProjectParams p) {
    project_chunk<math::UnscentedCamera<float>, kLazy, kTinted, false>(p);
}

template <bool kTinted>
GS_KERNEL(kChunk, 2)
void project_unscented_coded(ProjectParams p) {
    project_chunk<math::UnscentedCamera<float>, true, kTinted, false, true>(p);
}

}  // namespace

ProjectKernel unscented_kernel(const LazyView& lazy, bool tinted) {
    static constexpr ProjectKernel kernels[3][2] = {
        {project_unscented<false, false>, project_unscented<false, true>},
        {project_unscented<true, false>, project_unscented<true, true>},
        {project_unscented_coded<false>, project_unscented_coded<true>}};
    return kernels[lazy.coded() ? 2 : lazy.any() ? 1 : 0][tinted];
}

}  // namespace gs::cuda
