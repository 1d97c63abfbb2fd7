// Which GPU there is. No CUDA header comes in from here; in a build without CUDA the same functions
// say so (absent/absent.cpp). What goes wrong on a device is a DeviceError.
#pragma once

#if defined(__CUDACC__) && !defined(FMT_USE_CONSTEXPR)
#define FMT_USE_CONSTEXPR 1  // fmt 9 does not expect it of nvcc and then contradicts itself
#endif

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "renderer/device/device_error.h"

namespace gs {

struct CudaDeviceInfo {
    int index = 0;
    std::string name;                          ///< "NVIDIA H200"
    int compute_major = 0, compute_minor = 0;  ///< 9, 0
    int multiprocessors = 0;
    int clock_khz = 0, memory_clock_khz = 0;  ///< 0: unknown
    int memory_bus_bits = 0;
    std::uint64_t total_bytes = 0, free_bytes = 0, l2_bytes = 0;
    std::uint64_t shared_bytes_per_block = 0;     ///< largest a kernel may ask for
    int driver_version = 0, runtime_version = 0;  ///< 13000 is 13.0
    std::string uuid;
};

/// The device, or why there is none and what to do: built without CUDA, no driver, a driver too old
/// for this build, no device, a device older than sm_75. Never throws, never prints; cheap after
/// the first call.
Result<CudaDeviceInfo> cuda_device_info(int index);

/// A device as the driver lists it; asking makes no context and takes no memory of it.
struct CudaListing {
    int index = 0;
    std::string name;
    int compute_major = 0, compute_minor = 0;
    std::uint64_t total_bytes = 0;
    std::string uuid;
};
/// Every visible device, by index; cuda_device_info() says whether a device can be used. Errors as
/// cuda_device_info() where there is none.
Result<std::vector<CudaListing>> cuda_devices();
/// The first usable device, for callers that name none; else why the first of all cannot be used.
Result<CudaDeviceInfo> first_cuda_device();
/// "0: NVIDIA H200, sm_90, 140 GiB".
std::string describe(const CudaListing& device);

/// Bytes free and in all, now. Error as above.
struct CudaMemory {
    std::uint64_t free_bytes = 0, total_bytes = 0;
    std::uint64_t held_bytes = 0;  ///< allocated by this process through device/cuda
};
Result<CudaMemory> cuda_memory(int index);

/// Opens and closes the window that nsys and ncu look at (cudaProfilerStart / Stop). Both wait for
/// the device first, so that the window holds the work given between them and no other. Nothing
/// without a device.
void cuda_profiler_start(int index);
void cuda_profiler_stop(int index);

}  // namespace gs
