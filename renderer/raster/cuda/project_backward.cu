// Projection backward whose sink stores what it gets.
#include "renderer/raster/cuda/absolute_sums.cuh"
#include "renderer/raster/cuda/storing_sink.cuh"

namespace gs::cuda {
namespace {

struct StoringAbsolute {
    StoredGradients out;
    GS_DEVICE void take(std::uint32_t gaussian, float x, float y) const {
        out.mean2d()[gaussian] = x;
        out.mean2d()[out.stride + gaussian] = y;
    }
};

}  // namespace

void launch_store_gradients(const Stream& stream, const FrameLimits& limits,
                            const FrameArrays& frame, const ModelView& model,
                            const StoredGradients& out) {
    fill_bytes(out.values, 0, out.bytes(), stream);
    launch_project_backward<StoringSink, false>(stream, "project backward", limits,
                                                {frame, model, {out, model.sh_degree}});
    if (out.absolute)
        launch_absolute_sums(stream, "absolute sums", limits, frame, StoringAbsolute{out});
}

}  // namespace gs::cuda
