// Training on a CUDA device: TrainingBackend whose arrays live in device memory and whose steps are
// kernels. No CUDA header comes in from here; app/backend/backend.cpp calls it.
#pragma once

#include <memory>

#include "base/expected.h"
#include "trainer/training_backend.h"

namespace gs {

/// For the device `index`. Errors as cuda_device_info().
Result<std::unique_ptr<TrainingBackend>> make_cuda_training(int index);

}  // namespace gs
