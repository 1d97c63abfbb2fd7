#include "renderer/device/cuda/device.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "base/try.h"
#include "renderer/device/cuda/memory_account.h"
#include "renderer/device/cuda/probe.h"
#include "renderer/device/cuda/runtime.h"

// What this library holds code for, written by the build: "75;80;90". The emulator runs on
// anything.
#ifndef GAUSSCOPE_CUDA_CODE
#define GAUSSCOPE_CUDA_CODE "any"
#endif

namespace gs {
namespace {

constexpr int kOldestMajor = 7, kOldestMinor = 5;  // Turing

std::string dotted(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

tl::unexpected<Error> no_cuda(std::string message, std::string advice) {
    return fail(ErrorKind::unsupported, "", std::move(message), std::move(advice));
}

// Why the runtime cannot be used, from its first answer. Takes the error.
tl::unexpected<Error> explain(cudaError_t status) {
    (void)cudaGetLastError();
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
    (void)cudaGetLastError();
    if (driver == 0)
        return no_cuda("no NVIDIA driver",
                       "install the driver of this machine's GPU, or use --backend cpu");
    switch (status) {
        case cudaErrorInsufficientDriver:
            return no_cuda(fmt::format("driver {}, this build needs {}.0 or newer", dotted(driver),
                                       runtime / 1000),
                           "update the driver or build with an older toolkit");
        case cudaErrorNoDevice:
            return no_cuda(
                fmt::format("driver {} is here, but no NVIDIA GPU is visible", dotted(driver)),
                "see nvidia-smi; CUDA_VISIBLE_DEVICES and containers can hide a GPU");
        default:
            return no_cuda(fmt::format("CUDA cannot start: {}", cudaGetErrorString(status)),
                           fmt::format("driver {}, runtime {}; see nvidia-smi", dotted(driver),
                                       dotted(runtime)));
    }
}

int attribute(cudaDeviceAttr which, int index) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, index) == cudaSuccess) return value;
    (void)cudaGetLastError();
    return 0;
}

std::string uuid_text(const cudaUUID_t& uuid) {
    std::string out = "GPU-";
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
        out +=
            fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    }
    return out;
}

CudaDeviceInfo describe(int index, const cudaDeviceProp& device) {
    CudaDeviceInfo info{
        .index = index,
        .name = device.name,
        .compute_major = device.major,
        .compute_minor = device.minor,
        .multiprocessors = device.multiProcessorCount,
        .clock_khz = attribute(cudaDevAttrClockRate, index),
        .memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, index),
        .memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index),
        .total_bytes = device.totalGlobalMem,
        .l2_bytes = static_cast<std::uint64_t>(attribute(cudaDevAttrL2CacheSize, index))};
    info.shared_bytes_per_block =
        static_cast<std::uint64_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index));
    info.uuid = uuid_text(device.uuid);
    (void)cudaDriverGetVersion(&info.driver_version);
    (void)cudaRuntimeGetVersion(&info.runtime_version);
    return info;
}

// The device as the calling thread's, for one call: the device it used before is restored.
// A default is not restored: choosing device 0 because CUDA says so would make a context there.
class DeviceGuard {
  public:
    explicit DeviceGuard(int index)
        : before_(cuda::device_in_use()), status_(cuda::choose_device(index)) {}
    ~DeviceGuard() {
        if (before_ >= 0) (void)cuda::choose_device(before_);
    }
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;
    cudaError_t status() const { return status_; }

  private:
    int before_;
    cudaError_t status_;
};

// Memory now; makes the device's context if this process has none.
cudaError_t read_memory(int index, std::size_t& free, std::size_t& total) {
    const DeviceGuard guard(index);
    if (guard.status() != cudaSuccess) return guard.status();
    return cudaMemGetInfo(&free, &total);
}

// Does this library hold code that the device runs?
Result<void> check_code(const CudaDeviceInfo& info) {
    const DeviceGuard guard(info.index);
    const cudaError_t status = cuda::probe_code();
    if (status == cudaSuccess) return {};
    if (status != cudaErrorNoKernelImageForDevice && status != cudaErrorInvalidDeviceFunction &&
        status != cudaErrorUnsupportedPtxVersion)
        return explain(status);
    (void)cudaGetLastError();
    return no_cuda(fmt::format("{} has architecture {}{}, this build has code for {}", info.name,
                               info.compute_major, info.compute_minor, GAUSSCOPE_CUDA_CODE),
                   fmt::format("build with -DGAUSSCOPE_CUDA_ARCHITECTURES={}{} or =release",
                               info.compute_major, info.compute_minor));
}

Result<CudaDeviceInfo> look_up(int index) {
    int count = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess)
        return explain(status);
    if (count == 0) return explain(cudaErrorNoDevice);
    if (index < 0 || index >= count) {
        std::string there;
        if (const auto devices = cuda_devices())
            for (const CudaListing& device : *devices)
                there += (there.empty() ? "" : "; ") + describe(device);
        return no_cuda(fmt::format("no CUDA device {}, only {}", index, count),
                       "devices are counted from 0: " + there);
    }
    cudaDeviceProp device{};
    if (const cudaError_t status = cudaGetDeviceProperties(&device, index); status != cudaSuccess)
        return explain(status);
    CudaDeviceInfo info = describe(index, device);
    if (device.major < kOldestMajor ||
        (device.major == kOldestMajor && device.minor < kOldestMinor))
        return no_cuda(
            fmt::format("{} has architecture {}.{}; the oldest supported one is {}.{} (Turing)",
                        info.name, device.major, device.minor, kOldestMajor, kOldestMinor),
            "use --backend cpu");
    GS_TRY_VOID(check_code(info));
    std::size_t free = 0, total = 0;
    if (const cudaError_t status = read_memory(index, free, total); status != cudaSuccess)
        return explain(status);
    info.free_bytes = free;
    return info;
}

}  // namespace

Result<CudaDeviceInfo> cuda_device_info(int index) {
    static std::mutex mutex;
    static std::map<int, Result<CudaDeviceInfo>> known;
    const std::lock_guard lock(mutex);
    auto found = known.find(index);
    if (found == known.end()) found = known.emplace(index, look_up(index)).first;
    return found->second;
}

Result<std::vector<CudaListing>> cuda_devices() {
    int count = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess)
        return explain(status);
    if (count == 0) return explain(cudaErrorNoDevice);
    std::vector<CudaListing> out;
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp device{};
        if (const cudaError_t status = cudaGetDeviceProperties(&device, i); status != cudaSuccess)
            return explain(status);
        out.push_back({i, device.name, device.major, device.minor, device.totalGlobalMem,
                       uuid_text(device.uuid)});
    }
    return out;
}

Result<CudaDeviceInfo> first_cuda_device() {
    auto first = cuda_device_info(0);
    const auto devices = first ? Result<std::vector<CudaListing>>() : cuda_devices();
    if (first || !devices) return first;
    for (const CudaListing& other : *devices)
        if (auto device = cuda_device_info(other.index)) return device;
    return first;
}

std::string describe(const CudaListing& device) {
    return fmt::format("{}: {}, sm_{}{}, {:.0f} GiB", device.index, device.name,
                       device.compute_major, device.compute_minor,
                       static_cast<double>(device.total_bytes) / (1 << 30));
}

Result<CudaMemory> cuda_memory(int index) {
    GS_TRY_VOID(cuda_device_info(index));
    std::size_t free = 0, total = 0;
    if (const cudaError_t status = read_memory(index, free, total); status != cudaSuccess)
        return explain(status);
    return CudaMemory{free, total, cuda::held_device_bytes().load()};
}

void cuda_profiler_start(int index) {
    if (!cuda_device_info(index)) return;
    const DeviceGuard guard(index);
    if (cudaDeviceSynchronize() != cudaSuccess || cudaProfilerStart() != cudaSuccess)
        (void)cudaGetLastError();
}
void cuda_profiler_stop(int index) {
    if (!cuda_device_info(index)) return;
    const DeviceGuard guard(index);
    if (cudaDeviceSynchronize() != cudaSuccess || cudaProfilerStop() != cudaSuccess)
        (void)cudaGetLastError();
}

}  // namespace gs
