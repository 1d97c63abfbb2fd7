// Projection backward by the unscented transform, stored.
#include "renderer/raster/cuda/project_backward_unscented.cuh"
#include "renderer/raster/cuda/storing_sink.cuh"

namespace gs::cuda {

template void launch_project_backward_unscented<StoringSink, false>(
    const Stream&, const char*, const FrameLimits&, ProjectBackwardParams<StoringSink>);

}  // namespace gs::cuda
