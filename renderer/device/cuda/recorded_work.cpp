#include "renderer/device/cuda/recorded_work.h"

#include "base/log.h"

namespace gs::cuda {

RecordedGraph::~RecordedGraph() {
    if (graph_ != nullptr && cudaGraphExecDestroy(graph_) != cudaSuccess) (void)cudaGetLastError();
}

bool RecordedGraph::record(const Stream& stream, const char* what,
                           const std::function<void()>& enqueue) {
    const std::string doing = fmt::format("recording {}", what);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    try {
        check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
              doing.c_str());
        enqueue();
        check(cudaStreamEndCapture(stream.get(), &graph), doing.c_str());
        check(cudaGraphInstantiate(&executable, graph, 0), doing.c_str());
    } catch (const DeviceError& error) {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        if (cudaStreamIsCapturing(stream.get(), &status) == cudaSuccess &&
            status != cudaStreamCaptureStatusNone)
            (void)cudaStreamEndCapture(stream.get(), &graph);
        (void)cudaGetLastError();
        if (graph != nullptr) (void)cudaGraphDestroy(graph);
        log_info("{} are not recorded as CUDA graphs here: {}", what, error.what());
        return false;
    }
    graph_ = executable;
    check(cudaGraphDestroy(graph), doing.c_str());
    return true;
}

void RecordedGraph::replay(const Stream& stream, const char* what) const {
    check(cudaGraphLaunch(graph_, stream.get()), what);
}

}  // namespace gs::cuda
