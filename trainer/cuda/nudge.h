// The kernel of trainer/density/nudge_rules.h. Enqueued by StepEngine behind the optimizer's step.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

/// Nudges every row that is not locked, if the step continues. Means move: the bounds must be
/// computed again.
void launch_nudge(const Stream& stream, const ModelView& model, const StepInputs* inputs,
                  const RunFlags* flags, const std::uint32_t* tags);

}  // namespace gs::cuda
