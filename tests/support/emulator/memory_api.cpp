// Allocations, copies and fills of the emulated runtime.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/support/emulator/poison.h"
#include "tests/support/emulator/runtime_state.h"

namespace gs::emulator {
namespace {

cudaError_t release(Runtime& runtime, const char* call, void* pointer, bool pinned) {
    if (pointer == nullptr) return cudaSuccess;
    runtime.count("implicit synchronization");
    if (const Allocation* const one = runtime.allocations.holder(pointer, 1);
        one != nullptr && pinned &&
        std::any_of(one->copies.begin(), one->copies.end(),
                    [](const auto& copy) { return !copy.expired(); }))
        runtime.count("page-locked memory freed under way");
    runtime.drain_for_destructor();
    const Allocation one = runtime.allocations.remove(call, pointer, pinned);
    if (!pinned) runtime.device_used -= one.bytes;
    return cudaSuccess;
}

/// Lives as long as a copy from or to page-locked memory is on its way.
std::shared_ptr<int> copy_under_way(const Runtime& runtime, const void* host) {
    auto copy = std::make_shared<int>(0);
    const Allocation* const one = runtime.allocations.holder(host, 1);
    if (one == nullptr || !one->pinned) return copy;
    std::erase_if(one->copies, [](const auto& done) { return done.expired(); });
    one->copies.push_back(copy);
    return copy;
}

/// True when this call is the one ordered to fail.
bool is_the_one(std::uint64_t& countdown) { return countdown != 0 && --countdown == 0; }

cudaError_t allocate(Runtime& runtime, void** pointer, std::size_t bytes) {
    *pointer = nullptr;
    if (is_the_one(runtime.failing_device_allocation))
        return runtime.fail(cudaErrorMemoryAllocation);
    if (bytes == 0) return cudaSuccess;
    if (runtime.device_used + bytes > runtime.device_bytes)
        return runtime.fail(cudaErrorMemoryAllocation);
    *pointer = runtime.allocations.add(bytes, false, runtime.separate_memory);
    if (*pointer == nullptr) return runtime.fail(cudaErrorMemoryAllocation);
    runtime.device_used += bytes;
    return cudaSuccess;
}
cudaError_t allocate_pinned(Runtime& runtime, void** pointer, std::size_t bytes) {
    *pointer = nullptr;
    if (is_the_one(runtime.failing_pinned_allocation))
        return runtime.fail(cudaErrorMemoryAllocation);
    if (bytes == 0) return cudaSuccess;
    *pointer = runtime.allocations.add(bytes, true, false);
    return *pointer == nullptr ? runtime.fail(cudaErrorMemoryAllocation) : cudaSuccess;
}

}  // namespace

void Runtime::expect_device(const char* call, const void* pointer, std::size_t bytes) const {
    const Allocation* const one = allocations.holder(pointer, bytes);
    if (one != nullptr && !one->pinned) return;
    throw EmulatorError(
        Fault::bad_pointer,
        fmt::format("{}: {} bytes at {} are not in one device allocation", call, bytes, pointer),
        "", 0);
}

namespace {

/// Host memory of a copy: none of it may be device memory.
void expect_host(const Runtime& runtime, const char* call, const void* pointer, std::size_t bytes) {
    const Allocation* const inside = runtime.allocations.holder(pointer, 1);
    if (inside == nullptr) return;
    if (inside->pinned && runtime.allocations.holder(pointer, bytes) != nullptr) return;
    throw EmulatorError(
        Fault::bad_pointer,
        fmt::format("{}: {} bytes at {} are no host memory, or too many for their allocation", call,
                    bytes, pointer),
        "", 0);
}

cudaMemcpyKind resolved(const Runtime& runtime, const void* to, const void* from,
                        cudaMemcpyKind kind) {
    if (kind != cudaMemcpyDefault) return kind;
    const auto on_device = [&](const void* p) {
        const Allocation* const one = runtime.allocations.holder(p, 1);
        return one != nullptr && !one->pinned;
    };
    return on_device(to) ? (on_device(from) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
                         : (on_device(from) ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
}

struct Rows {
    std::size_t to_pitch, from_pitch, width, height;
    std::size_t to_bytes() const { return height == 0 ? 0 : to_pitch * (height - 1) + width; }
    std::size_t from_bytes() const { return height == 0 ? 0 : from_pitch * (height - 1) + width; }
};

void copy_rows(void* to, const void* from, const Rows& rows) {
    for (std::size_t y = 0; y < rows.height; ++y) {
        std::memmove(static_cast<char*>(to) + y * rows.to_pitch,
                     static_cast<const char*>(from) + y * rows.from_pitch, rows.width);
    }
}

/// What compute-sanitizer's initcheck finds: the host gets bytes that nobody has written, and might
/// take them for results.
void count_unwritten(Runtime& runtime, const void* from, const Rows& rows) {
    for (std::size_t y = 0; y < rows.height; ++y)
        if (first_poison(static_cast<const char*>(from) + y * rows.from_pitch, rows.width) <
            rows.width)
            return runtime.count("copy of what nobody wrote");
}

cudaError_t copy_async(Runtime& runtime, const char* call, void* to, const void* from,
                       const Rows& rows, cudaMemcpyKind asked, cudaStream_t handle) {
    if (rows.width == 0 || rows.height == 0) return cudaSuccess;
    const cudaMemcpyKind kind = resolved(runtime, to, from, asked);
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    Work carry_out = [&runtime, call, to, from, rows, to_device, from_device,
                      copy = copy_under_way(runtime, to_device ? from : to)] {
        to_device ? runtime.expect_device(call, to, rows.to_bytes())
                  : expect_host(runtime, call, to, rows.to_bytes());
        from_device ? runtime.expect_device(call, from, rows.from_bytes())
                    : expect_host(runtime, call, from, rows.from_bytes());
        if (from_device && !to_device) count_unwritten(runtime, from, rows);
        copy_rows(to, from, rows);
    };
    if (to_device) runtime.expect_device(call, to, rows.to_bytes());
    if (from_device) runtime.expect_device(call, from, rows.from_bytes());
    const bool pageable = (!to_device && runtime.allocations.holder(to, 1) == nullptr) ||
                          (!from_device && runtime.allocations.holder(from, 1) == nullptr);
    CUstream_st* const stream = runtime.stream_of(handle);
    if (!pageable) {
        runtime.enqueue(handle, call, false, std::move(carry_out));
        return cudaSuccess;
    }
    if (runtime.spoils_capture(stream)) return runtime.fail(cudaErrorStreamCaptureUnsupported);
    if (kind == cudaMemcpyHostToDevice) {
        // Pageable memory is staged before the call returns.
        const auto* const bytes = static_cast<const unsigned char*>(from);
        auto staged =
            std::make_shared<std::vector<unsigned char>>(bytes, bytes + rows.from_bytes());
        runtime.enqueue(handle, call, false, [&runtime, call, to, staged, rows] {
            runtime.expect_device(call, to, rows.to_bytes());
            copy_rows(to, staged->data(), rows);
        });
        return cudaSuccess;
    }
    // Into pageable memory: the call returns when the copy is done.
    runtime.count("implicit synchronization");
    runtime.enqueue(handle, call, false, carry_out);
    runtime.drain(stream);
    runtime.settle(stream);
    return cudaSuccess;
}

cudaError_t fill_async(Runtime& runtime, const char* call, void* to, int byte, std::size_t bytes,
                       cudaStream_t stream) {
    if (bytes == 0) return cudaSuccess;
    runtime.expect_device(call, to, bytes);
    runtime.enqueue(stream, call, false, [&runtime, call, to, byte, bytes] {
        runtime.expect_device(call, to, bytes);
        std::memset(to, byte, bytes);
    });
    return cudaSuccess;
}

}  // namespace
}  // namespace gs::emulator

using namespace gs::emulator;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
    GS_ENTER("cudaMalloc");
    return allocate(runtime, pointer, bytes);
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
    GS_ENTER("cudaMallocAsync");
    (void)runtime.stream_of(stream);
    return allocate(runtime, pointer, bytes);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    GS_ENTER("cudaFreeAsync");
    runtime.enqueue(stream, "cudaFreeAsync", false, [&runtime, pointer] {
        runtime.device_used -= runtime.allocations.remove("cudaFreeAsync", pointer, false).bytes;
    });
    return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
    GS_ENTER("cudaFree");
    return release(runtime, "cudaFree", pointer, false);
}
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
    GS_ENTER("cudaHostAlloc");
    return allocate_pinned(runtime, pointer, bytes);
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes, unsigned) {
    GS_ENTER("cudaMallocHost");
    return allocate_pinned(runtime, pointer, bytes);
}
cudaError_t cudaFreeHost(void* pointer) {
    GS_ENTER("cudaFreeHost");
    return release(runtime, "cudaFreeHost", pointer, true);
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    GS_ENTER("cudaMemGetInfo");
    *free = runtime.device_bytes - runtime.device_used;
    *total = runtime.device_bytes;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    GS_ENTER("cudaMemcpyAsync");
    return copy_async(runtime, "cudaMemcpyAsync", to, from, {bytes, bytes, bytes, 1}, kind, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
    GS_ENTER("cudaMemcpy2DAsync");
    return copy_async(runtime, "cudaMemcpy2DAsync", to, from, {to_pitch, from_pitch, width, height},
                      kind, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    GS_ENTER("cudaMemcpy");
    runtime.count("implicit synchronization");
    return copy_async(runtime, "cudaMemcpy", to, from, {bytes, bytes, bytes, 1}, kind, nullptr);
}
cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) {
    GS_ENTER("cudaMemset");
    return fill_async(runtime, "cudaMemset", to, byte, bytes, nullptr);
}
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t stream) {
    GS_ENTER("cudaMemsetAsync");
    return fill_async(runtime, "cudaMemsetAsync", to, byte, bytes, stream);
}
