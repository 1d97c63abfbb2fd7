// StepShape: all arguments of a step's kernels when it was recorded. A step's kernels and their
// parameters depend only on the capacity it has and the addresses of arrays; everything that
// changes from step to step is read from device memory. StepEngine forgets its recordings when the
// run's arrays change.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renderer/device/cuda/recorded_work.h"
#include "renderer/raster/cuda/frame.h"
#include "trainer/cuda/batch_step.h"
#include "trainer/cuda/beams.h"

namespace gs::cuda {

struct StepShape {
    FrameLimits limits;
    const void *frame = nullptr, *picture = nullptr, *gradient = nullptr, *partials = nullptr;
    const void *shown = nullptr, *look_sums = nullptr;  ///< null: no exposure is learned
    const void *sky = nullptr, *sky_sums = nullptr;     ///< null: there is none, or not learned
    std::size_t frame_bytes = 0;                        ///< changes when scratch memory does
    float* motion = nullptr;                            ///< where poses are corrected
    double* intrinsics = nullptr;                       ///< where intrinsics are
    bool nudges = false;                                ///< noise, regularisers, limits of size
    bool absolute = false;                              ///< gradients without signs are gathered
    BatchView batch{};                                  ///< null: a step of one view
    std::uint32_t ends = 1;  ///< with Adam's step of the mean of N views; 0: more of the batch
                             ///< come, and which of them this is makes no difference
    BeamArrays beams{};      ///< where the step learns from a lidar
    bool operator==(const StepShape&) const = default;
};
using StepGraphs = RecordedWork<StepShape>;

}  // namespace gs::cuda
