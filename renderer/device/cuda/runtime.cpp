#include "renderer/device/cuda/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "renderer/device/cuda/memory_account.h"

namespace gs::cuda {
namespace {

std::string place(const std::source_location& where) {
    const char* slash = std::strrchr(where.file_name(), '/');
    return fmt::format("{}:{}", slash != nullptr ? slash + 1 : where.file_name(), where.line());
}

// After one of these no call of this process reaches the device again, whatever it is about.
bool ends_the_process(cudaError_t status) {
    switch (status) {
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchFailure:
        case cudaErrorLaunchTimeout:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorHardwareStackError:
        case cudaErrorAssert:
        case cudaErrorECCUncorrectable:
            return true;
        default:
            return false;
    }
}

[[noreturn]] void out_of_memory(std::size_t bytes, const char* what) {
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) (void)cudaGetLastError();
    throw DeviceError(fmt::format("out of device memory: {} for '{}', {} of {} free",
                                  gibibytes(bytes), what, gibibytes(free), gibibytes(total)),
                      true);
}

// For destructors: takes the error, so that it is not found in the next call's place. A lost device
// has been reported by the call that noticed; at the end of the process the runtime may be gone
// already.
void quietly(cudaError_t status) noexcept {
    if (status != cudaSuccess) (void)cudaGetLastError();
}

}  // namespace

void check(cudaError_t status, const char* what, std::source_location where) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();  // taken: the next call starts clean, unless the device is lost
    throw DeviceError(
        fmt::format("{}: {} ({}){}", what, cudaGetErrorString(status), place(where),
                    ends_the_process(status)
                        ? "; the process has lost the device: restart it to use the device again"
                        : ""),
        status == cudaErrorMemoryAllocation);
}

namespace {

/// CUDA's current device is a thread's own, and asking for it gives 0 in a thread that has none.
thread_local int chosen_device = -1;

/// A frame's counts or a step's result are often this near: looking costs less than being woken.
constexpr auto kLookFor = std::chrono::microseconds(50);
constexpr int kLeastLooks = 8;  ///< however long each takes

}  // namespace

void use_device(int index) { check(choose_device(index), "choosing the device"); }
cudaError_t choose_device(int index) noexcept {
    if (index < 0) return cudaErrorInvalidDevice;
    const cudaError_t status = cudaSetDevice(index);
    if (status == cudaSuccess)
        chosen_device = index;
    else
        (void)cudaGetLastError();
    return status;
}
int device_in_use() noexcept { return chosen_device; }

Stream::Stream(const char* name) : name_(name) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}
Stream::~Stream() {
    if (owned_ && stream_ != nullptr) quietly(cudaStreamDestroy(stream_));
}
void Stream::synchronize() const {
    done_.record(*this);
    done_.wait_surely(name_);
}

Event::Event(Timing timing, Waiting waiting) {
    const unsigned flags = (timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming) |
                           (waiting == Waiting::sleeps ? cudaEventBlockingSync : cudaEventDefault);
    check(cudaEventCreateWithFlags(&event_, flags), "making an event");
}
Event::~Event() {
    if (event_ != nullptr) quietly(cudaEventDestroy(event_));
}
void Event::record(const Stream& stream) {
    check(cudaEventRecord(event_, stream.get()), "recording an event");
}
bool Event::reached() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
        (void)cudaGetLastError();  // the runtime keeps it as if it were an error
        return false;
    }
    check(status, "looking at an event");
    return true;
}
bool Event::comes_soon() const {
    const auto end = std::chrono::steady_clock::now() + kLookFor;
    for (int look = 0; look < kLeastLooks || std::chrono::steady_clock::now() < end; ++look) {
        if (reached()) return true;
        std::this_thread::yield();
    }
    return false;
}
void Event::wait() const {
    if (!comes_soon()) check(cudaEventSynchronize(event_), "waiting for an event");
}
void Event::wait_surely(const char* what) const {
    (void)comes_soon();
    check(cudaEventSynchronize(event_), what);
}
void Event::hold(const Stream& stream) const {
    check(cudaStreamWaitEvent(stream.get(), event_, 0), "waiting for an event in a stream");
}
float Event::milliseconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "time between two events");
    return milliseconds;
}

void* allocate_device(std::size_t bytes, const char* what, const Stream* ordered) {
    if (bytes == 0) return nullptr;
    void* pointer = nullptr;
    const cudaError_t status = ordered != nullptr ? cudaMallocAsync(&pointer, bytes, ordered->get())
                                                  : cudaMalloc(&pointer, bytes);
    if (status == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        out_of_memory(bytes, what);
    }
    check(status, what);
    held_device_bytes() += bytes;
    return pointer;
}
void free_device(void* pointer, std::size_t bytes, const Stream* ordered) noexcept {
    if (pointer == nullptr) return;
    quietly(ordered != nullptr ? cudaFreeAsync(pointer, ordered->get()) : cudaFree(pointer));
    held_device_bytes() -= bytes;
}

void* allocate_pinned(std::size_t bytes, const char* what) {
    if (bytes == 0) return nullptr;
    void* pointer = nullptr;
    const cudaError_t status = cudaMallocHost(&pointer, bytes);
    if (status == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        throw DeviceError(
            fmt::format("out of page-locked memory: {} for '{}'", gibibytes(bytes), what), true);
    }
    check(status, what);
    return pointer;
}
void free_pinned(void* pointer) noexcept {
    if (pointer != nullptr) quietly(cudaFreeHost(pointer));
}

void copy_to_device(void* to, const void* from, std::size_t bytes, const Stream& stream) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream.get()),
          "copying to the device");
}
void copy_to_host(void* to, const void* from, std::size_t bytes, const Stream& stream) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.get()),
          "copying to the host");
}
void copy_on_device(void* to, const void* from, std::size_t bytes, const Stream& stream) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream.get()),
          "copying on the device");
}
void fill_bytes(void* to, int byte, std::size_t bytes, const Stream& stream) {
    if (bytes == 0) return;
    check(cudaMemsetAsync(to, byte, bytes, stream.get()), "filling device memory");
}

void Arena::reset(std::size_t bytes, const Stream& stream) {
    used_ = 0;
    bytes = bytes_of<std::byte>(bytes);
    if (bytes <= region_.size()) return;
    // The first size is exact: a scene that is only looked at stays with it. Who grows once will
    // grow again.
    const std::size_t spare = region_.size() == 0 ? 0 : bytes / 4;
    try {
        region_.resize_discard(bytes + spare, stream);
    } catch (const DeviceError& error) {
        if (!error.out_of_memory() || spare == 0) throw;
        region_.resize_discard(bytes, stream);
    }
}

void* Arena::take_bytes(std::size_t bytes) {
    const std::size_t size = bytes_of<std::byte>(bytes);
    CHECK(size <= region_.size() - used_, "{} of {} bytes are used, {} more are needed", used_,
          region_.size(), size);
    void* pointer = region_.data() + used_;
    used_ += size;
    high_water_ = std::max(high_water_, used_);
    return pointer;
}

}  // namespace gs::cuda
