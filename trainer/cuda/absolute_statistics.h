// Density statistics of gradients without signs, for TrainingSettings::absgrad: a pass behind the
// one that ends in the optimizer, which then adds only views and radii. StepEngine calls it.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/model_view.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

/// Adds one view's sums to StatisticsView::gradient_sum, of rows whose gradient was taken. After
/// launch_adam_step(), or with `seen` (BatchView's) after launch_add_view(); blend backward was
/// asked for PictureGradientView::absolute.
void launch_absolute_statistics(const Stream& stream, const FrameLimits& limits,
                                const FrameArrays& frame, const ModelView& model,
                                const StepInputs* inputs, const RunFlags* flags,
                                const StatisticsView& statistics, const std::uint32_t* seen);

}  // namespace gs::cuda
