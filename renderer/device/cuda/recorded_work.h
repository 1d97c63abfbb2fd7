// RecordedWork: work on a stream recorded as CUDA graphs and replayed. What is enqueued for a step
// or a frame depends on nothing but its shape (its capacity, where arrays are); all that
// changes from one to the next is read from memory. So the work of one shape is recorded once, and
// a replay costs the host one call and the device no wait between kernels. StepEngine has one for
// steps, CudaRasterizer's states one each for pictures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "renderer/device/cuda/runtime.h"

namespace gs::cuda {

/// One recording, or none.
class RecordedGraph {
  public:
    RecordedGraph() = default;
    ~RecordedGraph();
    RecordedGraph(RecordedGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
    RecordedGraph& operator=(RecordedGraph&& other) noexcept {
        std::swap(graph_, other.graph_);
        return *this;
    }
    bool recorded() const { return graph_ != nullptr; }
    /// Records what `enqueue` enqueues on the stream; nothing is carried out yet. False: that does
    /// not work here, which the log says of `what` ("steps").
    bool record(const Stream& stream, const char* what, const std::function<void()>& enqueue);
    void replay(const Stream& stream, const char* what) const;

  private:
    cudaGraphExec_t graph_ = nullptr;
};

/// `Shape` compares equal when everything that kernels were given does. What its pointers name may
/// be freed: such a shape does not come again, or with the same memory at the same place.
template <class Shape>
class RecordedWork {
  public:
    RecordedWork(const Stream& stream, const char* what) : stream_(stream), what_(what) {}
    void enable(bool on) {
        enabled_ = on;
        if (!on) clear();
    }
    /// True: the work has been enqueued, by replaying or by recording what `enqueue` enqueues.
    /// False: the caller does it, because work of this shape is too rare, or recording does not
    /// work here (said once in the log).
    bool run(const Shape& shape, const std::function<void()>& enqueue) {
        if (!enabled_) return false;
        Entry& entry = entry_of(shape);
        ++entry.uses;
        if (!entry.graph.recorded()) {
            if (entry.uses <= kUsesBeforeRecording) return false;
            enabled_ = entry.graph.record(stream_, what_, enqueue);
            if (!enabled_) return false;
        }
        entry.graph.replay(stream_, what_);
        return true;
    }
    /// Shapes of before do not come again.
    void clear() { entries_.clear(); }
    /// Shapes that are recorded.
    std::size_t size() const {
        return static_cast<std::size_t>(
            std::count_if(entries_.begin(), entries_.end(),
                          [](const Entry& entry) { return entry.graph.recorded(); }));
    }

  private:
    /// Rows change every hundred steps or so, and all graphs with them: a shape must pay soon. The
    /// uses before have made the memory that recording must not make.
    static constexpr std::uint32_t kUsesBeforeRecording = 2;
    static constexpr std::size_t kMostShapes = 64;
    struct Entry {
        Shape shape;
        std::uint32_t uses = 0;
        RecordedGraph graph;
    };
    Entry& entry_of(const Shape& shape) {
        const auto found = std::find_if(entries_.begin(), entries_.end(),
                                        [&](const Entry& e) { return e.shape == shape; });
        if (found != entries_.end()) return *found;
        if (entries_.size() >= kMostShapes)  // evict the one used least
            entries_.erase(
                std::min_element(entries_.begin(), entries_.end(),
                                 [](const Entry& a, const Entry& b) { return a.uses < b.uses; }));
        return entries_.emplace_back(Entry{shape, 0, {}});
    }

    const Stream& stream_;
    const char* what_;
    std::vector<Entry> entries_;
    bool enabled_ = true;
};

}  // namespace gs::cuda
