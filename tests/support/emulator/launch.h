// How a kernel gets onto an emulated stream; cuda::launch (renderer/device/cuda/launch.h) calls it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace gs::emulator {

/// Enqueues `blocks` blocks of `threads` threads; thread_body runs once for each. EmulatorError when the shape is one
/// that no device takes.
void launch(cudaStream_t stream, const char* name, unsigned blocks, unsigned threads,
            std::function<void()> thread_body);

}  // namespace gs::emulator
