// The emulated device: a plausible one, small, of compute capability 9.0 unless a test orders
// another.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>

#include "tests/support/emulator/runtime_state.h"

using namespace gs::emulator;

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 0;
    GS_ENTER("cudaGetDeviceCount");
    *count = runtime.device_count;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    GS_ENTER("cudaGetDevice");
    *device = Runtime::current_device;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    GS_ENTER("cudaSetDevice");
    if (device < 0 || device >= runtime.device_count) return runtime.fail(cudaErrorInvalidDevice);
    Runtime::current_device = device;
    runtime.contexts.insert(device);
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    GS_ENTER("cudaGetDeviceProperties");
    if (device < 0 || device >= runtime.device_count) return runtime.fail(cudaErrorInvalidDevice);
    *properties = {};
    std::strcpy(properties->name, "emulated CUDA device");
    std::memcpy(properties->uuid.bytes, "gausscope-emul00", 16);
    properties->uuid.bytes[15] = static_cast<char>('0' + device);
    properties->totalGlobalMem = runtime.device_bytes;
    properties->sharedMemPerBlock = 48 * 1024;
    properties->sharedMemPerBlockOptin = 99 * 1024;
    properties->sharedMemPerMultiprocessor = 100 * 1024;
    properties->regsPerBlock = 65536;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsPerMultiProcessor = 1536;
    properties->multiProcessorCount = 2;
    properties->major = runtime.device == Device::old_architecture ? 6 : 9;
    properties->minor = runtime.device == Device::old_architecture ? 1 : 0;
    properties->l2CacheSize = 4 << 20;
    properties->memoryBusWidth = 128;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    GS_ENTER("cudaDeviceGetAttribute");
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return runtime.last_error;
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock:
            *value = properties.maxThreadsPerBlock;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = static_cast<int>(properties.sharedMemPerBlock);
            break;
        case cudaDevAttrWarpSize:
            *value = properties.warpSize;
            break;
        case cudaDevAttrClockRate:
            *value = 1000000;
            break;
        case cudaDevAttrMultiProcessorCount:
            *value = properties.multiProcessorCount;
            break;
        case cudaDevAttrMemoryClockRate:
            *value = 1000000;
            break;
        case cudaDevAttrGlobalMemoryBusWidth:
            *value = properties.memoryBusWidth;
            break;
        case cudaDevAttrL2CacheSize:
            *value = properties.l2CacheSize;
            break;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            *value = properties.maxThreadsPerMultiProcessor;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = properties.major;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = properties.minor;
            break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            *value = static_cast<int>(properties.sharedMemPerMultiprocessor);
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = static_cast<int>(properties.sharedMemPerBlockOptin);
            break;
        default:
            return runtime.fail(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    runtime.count("cudaDriverGetVersion");
    *version = runtime.device == Device::no_driver    ? 0
               : runtime.device == Device::old_driver ? 11040
                                                      : 13000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    runtime.count("cudaRuntimeGetVersion");
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaDeviceReset() {
    GS_ENTER("cudaDeviceReset");
    return cudaSuccess;
}
cudaError_t cudaGetLastError() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    return std::exchange(runtime.last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
    Runtime& runtime = Runtime::instance();
    const Guard guard(runtime.mutex);
    return runtime.last_error;
}
cudaError_t cudaProfilerStart() {
    GS_ENTER("cudaProfilerStart");
    return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
    GS_ENTER("cudaProfilerStop");
    return cudaSuccess;
}

namespace {

struct ErrorText {
    cudaError_t error;
    const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorAlreadyMapped, "cudaErrorAlreadyMapped", "resource already mapped"},
    {cudaErrorNotMapped, "cudaErrorNotMapped", "resource not mapped"},
    {cudaErrorOperatingSystem, "cudaErrorOperatingSystem",
     "OS call failed or operation not supported on this OS"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints"},
};

}  // namespace

const char* cudaGetErrorString(cudaError_t error) {
    for (const ErrorText& one : kErrors) {
        if (one.error == error) return one.text;
    }
    return "unrecognized error code";
}
const char* cudaGetErrorName(cudaError_t error) {
    for (const ErrorText& one : kErrors) {
        if (one.error == error) return one.name;
    }
    return "unrecognized error code";
}
