// Asks the runtime whether the kernels in this library can run on the current device. Private to
// device/cuda: the answer becomes part of cuda_device_info(), so that a build for other GPUs says
// so at once and not at its first kernel.
#pragma once

#include <cuda_runtime.h>

namespace gs::cuda {

/// cudaErrorNoKernelImageForDevice and the like when there is no code for the calling thread's
/// device.
cudaError_t probe_code();

}  // namespace gs::cuda
