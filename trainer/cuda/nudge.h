// The kernel of trainer/nudge_rules.h. Enqueued by StepEngine behind the optimizer's step.
#pragma once

#include "renderer/device/cuda/runtime.h"
#include "trainer/cuda/step_records.h"

namespace gs::cuda {

/// Of every row that is not locked, where the step under way goes. Means move: bounds are to be
/// made anew.
void launch_nudge(const Stream& stream, const ModelView& model, const StepInputs* inputs,
                  const RunFlags* flags, const std::uint32_t* tags);

}  // namespace gs::cuda
