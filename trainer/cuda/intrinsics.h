// d loss / d the numbers of a photo's lens, for TrainingSettings::refine_intrinsics: a pass of its
// own before the one that ends in the optimizer, which stays as it is. StepEngine calls it.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "renderer/math/lens_numbers.h"
#include "renderer/raster/cuda/frame.h"
#include "renderer/raster/cuda/model_view.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

/// Doubles of `sums` below.
inline std::size_t intrinsics_sums(const FrameLimits& limits) {
    return std::size_t{math::kLensNumbers} * limits.chunks();
}
/// Adds up StepResult::intrinsics in a fixed order. After blend backward,
/// with the model as it was drawn: by EWA, through a lens that math::lens_intrinsics_vjp() takes.
void launch_intrinsics(const Stream& stream, const FrameLimits& limits, const FrameArrays& frame,
                       const ModelView& model, double* sums, StepResult* result);

}  // namespace gs::cuda
