// Stream capture and graphs of the emulated runtime. A graph is the captured work in the order it
// was given, which keeps every dependency.
#include <cuda_runtime_api.h>

#include <utility>

#include "tests/support/emulator/runtime_state.h"

using namespace gs::emulator;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
    GS_ENTER("cudaStreamBeginCapture");
    CUstream_st* const stream = runtime.stream_of(handle);
    if (stream == &runtime.default_stream || stream->capture)
        return runtime.fail(cudaErrorStreamCaptureUnsupported);
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
    GS_ENTER("cudaStreamEndCapture");
    *graph = nullptr;
    CUstream_st* const stream = runtime.stream_of(handle);
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture || capture->origin != stream) return runtime.fail(cudaErrorStreamCaptureUnmatched);
    for (CUstream_st* other : runtime.streams) {
        if (other->capture == capture) other->capture = nullptr;
    }
    if (capture->invalid) return runtime.fail(cudaErrorStreamCaptureInvalidated);
    if (!capture->unjoined.empty()) return runtime.fail(cudaErrorStreamCaptureUnjoined);
    *graph = new CUgraph_st{std::move(capture->nodes)};
    runtime.graphs.insert(*graph);
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
    GS_ENTER("cudaStreamIsCapturing");
    const std::shared_ptr<Capture>& capture = runtime.stream_of(handle)->capture;
    *status = !capture           ? cudaStreamCaptureStatusNone
              : capture->invalid ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
    GS_ENTER("cudaGraphInstantiate");
    if (!runtime.graphs.contains(graph)) return runtime.fail(cudaErrorInvalidValue);
    *executable = new CUgraphExec_st{graph->nodes};
    runtime.executables.insert(*executable);
    return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
    GS_ENTER("cudaGraphExecUpdate");
    if (!runtime.executables.contains(executable) || !runtime.graphs.contains(graph)) {
        return runtime.fail(cudaErrorInvalidValue);
    }
    bool same = executable->nodes.size() == graph->nodes.size();
    for (std::size_t i = 0; same && i < graph->nodes.size(); ++i) {
        same = executable->nodes[i].name == graph->nodes[i].name;
    }
    *result = {same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged, nullptr,
               nullptr};
    if (!same) return runtime.fail(cudaErrorGraphExecUpdateFailure);
    executable->nodes = graph->nodes;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    GS_ENTER("cudaGraphLaunch");
    if (!runtime.executables.contains(executable)) return runtime.fail(cudaErrorInvalidValue);
    for (const GraphNode& node : executable->nodes)
        runtime.enqueue(stream, node.name, node.kernel, node.work);
    return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
    GS_ENTER("cudaGraphGetNodes");
    if (!runtime.graphs.contains(graph)) return runtime.fail(cudaErrorInvalidValue);
    if (nodes != nullptr) return runtime.fail(cudaErrorNotSupported);  // only their number is kept
    *count = graph->nodes.size();
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    GS_ENTER("cudaGraphExecDestroy");
    if (runtime.executables.erase(executable) == 0) return runtime.fail(cudaErrorInvalidValue);
    delete executable;
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    GS_ENTER("cudaGraphDestroy");
    if (runtime.graphs.erase(graph) == 0) return runtime.fail(cudaErrorInvalidValue);
    delete graph;
    return cudaSuccess;
}
