// How a kernel gets onto an emulated stream; cuda::launch (renderer/device/cuda/launch.h) calls it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace gs::emulator {

/// Enqueues `blocks` blocks of `threads` threads; thread_body runs once for each. EmulatorError
/// when the shape is one that no device takes.
void launch(cudaStream_t stream, const char* name, unsigned blocks, unsigned threads,
            std::function<void()> thread_body);
/// With separate memory: EmulatorError when a word of the parameters points to host memory that is
/// not page-locked.
void check_parameters(const char* kernel, const void* parameters, std::size_t bytes);

/// The same for a kernel of one plain struct.
template <class Params>
void launch(cudaStream_t stream, const char* name, unsigned blocks, unsigned threads,
            void (*kernel)(Params), const Params& params) {
    Params fields = params;
    __builtin_clear_padding(&fields);  // what the stack left between fields may look like a pointer
    check_parameters(name, &fields, sizeof fields);
    launch(stream, name, blocks, threads, [kernel, params] { kernel(params); });
}

}  // namespace gs::emulator
