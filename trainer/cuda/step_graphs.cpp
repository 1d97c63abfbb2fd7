#include "trainer/cuda/step_graphs.h"

#include <algorithm>

#include "base/log.h"

namespace gs::cuda {
namespace {

void destroy(cudaGraphExec_t graph) {
    if (graph != nullptr && cudaGraphExecDestroy(graph) != cudaSuccess) (void)cudaGetLastError();
}

}  // namespace

void StepGraphs::enable(bool on) {
    enabled_ = on;
    if (!on) clear();
}

void StepGraphs::clear() {
    for (Entry& entry : entries_) destroy(entry.graph);
    entries_.clear();
    recorded_ = 0;
}

bool StepGraphs::run(const StepShape& shape, const std::function<void()>& enqueue) {
    if (!enabled_) return false;
    // Graphs of arrays that are no more are of no use.
    if (!entries_.empty() && entries_.front().shape.generation != shape.generation) clear();
    auto entry = std::find_if(entries_.begin(), entries_.end(),
                              [&](const Entry& e) { return e.shape == shape; });
    if (entry == entries_.end()) {
        if (entries_.size() >= kMostShapes) {
            // The one used least makes room.
            entry =
                std::min_element(entries_.begin(), entries_.end(),
                                 [](const Entry& a, const Entry& b) { return a.uses < b.uses; });
            destroy(entry->graph);
            recorded_ -= entry->graph != nullptr;
            entries_.erase(entry);
        }
        entries_.push_back({shape, 0, nullptr});
        entry = entries_.end() - 1;
    }
    ++entry->uses;
    if (entry->graph == nullptr &&
        (entry->uses <= kUsesBeforeRecording || !record(*entry, enqueue)))
        return false;
    check(cudaGraphLaunch(entry->graph, stream_.get()), "replaying a step");
    return true;
}

/// Nothing is carried out yet.
bool StepGraphs::record(Entry& entry, const std::function<void()>& enqueue) {
    cudaGraph_t graph = nullptr;
    try {
        check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
              "recording a step");
        enqueue();
        check(cudaStreamEndCapture(stream_.get(), &graph), "recording a step");
        check(cudaGraphInstantiate(&entry.graph, graph, 0), "recording a step");
    } catch (const DeviceError& error) {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        if (cudaStreamIsCapturing(stream_.get(), &status) == cudaSuccess &&
            status != cudaStreamCaptureStatusNone)
            (void)cudaStreamEndCapture(stream_.get(), &graph);
        (void)cudaGetLastError();
        if (graph != nullptr) (void)cudaGraphDestroy(graph);
        entry.graph = nullptr;
        log_info("steps are not recorded as CUDA graphs here: {}", error.what());
        enabled_ = false;
        return false;
    }
    check(cudaGraphDestroy(graph), "recording a step");
    ++recorded_;
    return true;
}

}  // namespace gs::cuda
