// Projection backward whose sink stores what it gets.
#include "renderer/raster/cuda/storing_sink.cuh"

namespace gs::cuda {
void launch_store_gradients(const Stream& stream, const FrameLimits& limits,
                            const FrameArrays& frame, const ModelView& model,
                            const StoredGradients& out) {
    fill_bytes(out.values, 0, out.bytes(), stream);
    launch_project_backward<StoringSink, false>(stream, "project backward", limits,
                                                {frame, model, {out, model.sh_degree}});
}

}  // namespace gs::cuda
