// Projection backward by the unscented transform. Who has a Sink instantiates
// launch_project_backward_unscented() in a file of its own: it takes long to compile.
#pragma once

#include "renderer/raster/cuda/project_backward.cuh"

namespace gs::cuda {

template <class Sink, bool kLazy>
GS_KERNEL(kChunk, 1)
void project_backward_unscented(ProjectBackwardParams<Sink> p) {
    project_chunk_backward<math::UnscentedCamera<float>, Sink, kLazy>(p);
}

template <class Sink, bool kLazy>
void launch_project_backward_unscented(const Stream& stream, const char* name,
                                       const FrameLimits& limits,
                                       ProjectBackwardParams<Sink> params) {
    launch(stream, name, Grid{limits.chunks(), kChunk}, project_backward_unscented<Sink, kLazy>,
           params);
}

}  // namespace gs::cuda
