// How a kernel gets onto an emulated stream; cuda::launch (renderer/device/cuda/launch.h) calls it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace gs::emulator {

/// The data of a kernel that LaunchObserver (observer.h) receives.
struct KernelCall {
    const void* function = nullptr;  ///< null: a body made by hand, which no observer sees
    std::vector<std::byte> parameters;
};

/// Enqueues `blocks` blocks of `threads` threads; thread_body runs once for each. EmulatorError
/// when the shape is one that no device takes.
void launch(cudaStream_t stream, const char* name, unsigned blocks, unsigned threads,
            std::function<void()> thread_body, KernelCall call = {});
/// The first byte of a word in `parameters` that is an address of host memory which is not
/// page-locked; none: all that they point to is a device's.
std::optional<std::size_t> host_pointer_in(std::span<const std::byte> parameters);
/// With separate memory: EmulatorError when a word of the parameters points to host memory that is
/// not page-locked.
void check_parameters(const char* kernel, const void* parameters, std::size_t bytes);

/// The same for a kernel of one plain struct.
template <class Params>
void launch(cudaStream_t stream, const char* name, unsigned blocks, unsigned threads,
            void (*kernel)(Params), const Params& params) {
    Params fields = params;
    // What the stack left between fields may look like a pointer; Clang cannot clear it.
#ifdef __clang__
    if constexpr (std::has_unique_object_representations_v<Params>)
#else
    __builtin_clear_padding(&fields);
#endif
        check_parameters(name, &fields, sizeof fields);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&fields);
    launch(stream, name, blocks, threads, [kernel, params] { kernel(params); },
           {reinterpret_cast<const void*>(kernel), {bytes, bytes + sizeof fields}});
}

}  // namespace gs::emulator
