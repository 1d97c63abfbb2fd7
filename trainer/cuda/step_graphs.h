// StepGraphs: steps recorded as CUDA graphs. A step's kernels and their parameters depend on
// nothing but the room it is given and where arrays lie (all that changes from step to step is read
// from device memory), so the steps of one shape are recorded once and replayed. Owned by
// StepEngine.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "trainer/cuda/batch_step.h"

namespace gs::cuda {

/// Everything a step's kernels were given when it was recorded.
struct StepShape {
    FrameLimits limits;
    std::uint64_t generation = 0;  ///< of the run's arrays
    const void *frame = nullptr, *picture = nullptr, *gradient = nullptr, *partials = nullptr;
    const void *shown = nullptr, *look_sums = nullptr;  ///< null: no exposure is learned
    std::size_t frame_bytes = 0;                        ///< changes when scratch memory does
    float* motion = nullptr;                            ///< where poses are corrected
    BatchPart part{};                                   ///< only of batches of several views
    BatchView batch{};                                  ///< the same
    bool operator==(const StepShape&) const = default;
};

class StepGraphs {
  public:
    explicit StepGraphs(const Stream& stream) : stream_(stream) {}
    ~StepGraphs() { clear(); }
    StepGraphs(const StepGraphs&) = delete;
    StepGraphs& operator=(const StepGraphs&) = delete;
    void enable(bool on);
    /// True: the step has been enqueued, by replaying or by recording what `enqueue` enqueues.
    /// False: the caller does it, because a step of this shape is too rare, or recording does not
    /// work here (said once in the log).
    bool run(const StepShape& shape, const std::function<void()>& enqueue);
    void clear();
    std::size_t size() const { return recorded_; }

  private:
    /// Rows change every hundred steps or so, and all graphs with them: a shape must pay soon. The
    /// uses before have made the memory that recording must not make.
    static constexpr std::uint32_t kUsesBeforeRecording = 2;
    static constexpr std::size_t kMostShapes = 64;
    struct Entry {
        StepShape shape;
        std::uint32_t uses = 0;
        cudaGraphExec_t graph = nullptr;
    };
    bool record(Entry& entry, const std::function<void()>& enqueue);

    const Stream& stream_;
    std::vector<Entry> entries_;
    std::size_t recorded_ = 0;
    bool enabled_ = true;
};

}  // namespace gs::cuda
