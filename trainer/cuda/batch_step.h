// DeviceBatch: what the views of one step's batch add up to, in device memory, and the kernels that
// add and step. Each view's projection backward adds its Gaussians' gradients; the last view is
// followed by one Adam step of the mean, of every row that any of them showed. The CPU's twin is
// trainer/adam/batch_gradients.h. Owned by StepEngine.
#pragma once

#include <cstdint>

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/model_view.h"
#include "trainer/adam/batch_part.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

/// Rows of a model's storage, `stride` as ModelView has it.
struct BatchView {
    float* sums = nullptr;  ///< [planes][stride]; anything where nothing was seen. Null: each
                            ///< view is a step
    std::uint32_t* seen = nullptr;  ///< [stride] 1: a view of the batch showed the row
    bool operator==(const BatchView&) const = default;
};

class DeviceBatch {
  public:
    explicit DeviceBatch(const Stream& stream) : stream_(stream) {}
    /// For the view `part` of a batch, of a model with `rows` rows and `planes` planes. The step of
    /// a batch leaves nothing in it (unless it is halted and comes again), so rows are only cleared
    /// where there were others, or a batch was left in the middle.
    BatchView of(const BatchPart& part, std::size_t rows, int planes);
    std::size_t bytes() const { return sums_.capacity_bytes() + seen_.capacity_bytes(); }

  private:
    const Stream& stream_;
    bool open_ = true;  ///< there may be something in it
    DeviceBuffer<float> sums_{"gradients of a batch"};
    DeviceBuffer<std::uint32_t> seen_{"gradients of a batch"};
};

/// Projection backward that adds every visible Gaussian's gradient to the batch and its statistics
/// to those of the run; what is not finite adds nothing and is counted. After blend backward.
/// `motion` as in launch_adam_step().
void launch_add_view(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
                     const ModelView& model, const StepInputs* inputs, const RunFlags* flags,
                     const StatisticsView& statistics, float* motion, const BatchView& batch);
/// After the last of `views` views: one Adam step of their mean, unless the run is halted.
void launch_step_batch(const Stream& stream, const ModelView& model, const StepInputs* inputs,
                       const RunFlags* flags, const BatchView& batch, std::uint32_t views);

}  // namespace gs::cuda
