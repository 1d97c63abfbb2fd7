// A CUDA driver and runtime without a GPU, for tests of the profiling service: a shared library by
// the name libcuda.so.1 that programs link, on whose streams fake kernels take believable times.
// Calls have their real names and signatures as far as they go; a kernel is a MockKernel, which
// says how long it takes. The mock libcupti and the tests watch through set_observer(). Nothing
// here says anything about how fast a real GPU or driver is.
//
// Environment: MOCK_CUDA_DEVICES (1), MOCK_CUDA_VERSION (13000), MOCK_CUDA_BUSY (a file of eight
// bytes: for how many nanoseconds the GPU has been given work, the streams' overlap counted once).
// CUDA_INJECTION64_PATH works as in the real driver.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mock {

struct Kernel {
    const char* symbol;  ///< mangled
    std::uint64_t duration_ns;
    std::uint16_t registers = 32;
    std::uint32_t static_shared = 0;
};

/// Numbers of calls, as CUPTI has them.
enum RuntimeCall : std::uint32_t {
    kCudaMalloc = 20,
    kCudaFree = 22,
    kCudaMallocHost = 25,
    kCudaMemcpyAsync = 41,
    kCudaMemsetAsync = 51,
    kCudaGetLastError = 10,
    kCudaStreamSynchronize = 131,
    kCudaDeviceSynchronize = 165,
    kCudaLaunchKernel = 211,
    kCudaGraphLaunch = 311,
};
enum DriverCall : std::uint32_t {
    kCuMemAlloc = 243,
    kCuMemFree = 245,
    kCuMemcpyHtoDAsync = 277,
    kCuMemcpyDtoHAsync = 279,
    kCuStreamSynchronize = 126,
    kCuLaunchKernel = 307,
};

enum class WorkKind { kernel, copy, peer_copy, fill, graph };
enum Memory : std::uint8_t { kPageable = 1, kPinned = 2, kDevice = 3 };

/// What a stream carries out.
struct Work {
    WorkKind kind = WorkKind::kernel;
    std::uint64_t start = 0, end = 0;  ///< CLOCK_REALTIME, ns
    std::uint32_t device = 0, context = 1, stream = 0, correlation = 0, graph = 0;
    const Kernel* kernel = nullptr;
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    std::uint32_t dynamic_shared = 0;
    std::uint64_t bytes = 0;
    std::uint8_t source = 0, target = 0;
    bool asynchronous = true;
};
struct Call {
    bool driver = false;
    std::uint32_t cbid = 0, correlation = 0, tid = 0, pthread = 0;
    std::uint64_t start = 0, end = 0;
    int result = 0;
};
struct Wait {
    std::uint32_t type = 0;  ///< 3: stream, 4: context
    std::uint32_t context = 1, stream = 0, correlation = 0;
    std::uint64_t start = 0, end = 0;
};
struct Allocation {
    bool released = false;
    std::uint64_t address = 0, bytes = 0, time = 0;
    std::uint32_t correlation = 0;
};

/// Called on the thread that makes the call. Work is reported when it is launched; it is done at
/// its `end`.
struct Observer {
    void (*call)(const Call&, bool exit) = nullptr;
    void (*work)(const Work&) = nullptr;
    void (*wait)(const Wait&) = nullptr;
    void (*allocation)(const Allocation&) = nullptr;
};

}  // namespace mock

extern "C" {
struct mock_dim3 {
    unsigned x, y, z;
};
/// Replaces the observer and returns the former one; null: none.
const mock::Observer* mock_cuda_set_observer(const mock::Observer* observer);
/// Of the calling thread's last call.
std::uint32_t mock_cuda_last_correlation();

int cuInit(unsigned);
int cuDriverGetVersion(int*);
int cuDeviceGetCount(int*);
int cuDeviceGet(int*, int);
int cuDeviceGetName(char*, int, int);
int cuDeviceGetAttribute(int*, int, int);
int cuDeviceTotalMem_v2(std::size_t*, int);
int cuDeviceGetUuid_v2(void*, int);
int cuMemAlloc_v2(std::uint64_t*, std::size_t);
int cuMemFree_v2(std::uint64_t);
int cuMemcpyHtoDAsync_v2(std::uint64_t, const void*, std::size_t, void*);
int cuMemcpyDtoHAsync_v2(void*, std::uint64_t, std::size_t, void*);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxSetCurrent(void*);
int cuModuleLoadData(void**, const void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuStreamSynchronize(void*);
int cuLaunchKernel(const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, void*, void**, void**);

int cudaMalloc(void**, std::size_t);
int cudaFree(void*);
int cudaMallocHost(void**, std::size_t);
int cudaGetLastError();
int cudaSetDevice(int);
int cudaStreamCreate(void**);
int cudaMemcpyAsync(void*, const void*, std::size_t, int kind, void*);
int cudaMemcpyPeerAsync(void*, int, const void*, int, std::size_t, void*);
int cudaMemsetAsync(void*, int, std::size_t, void*);
int cudaStreamSynchronize(void*);
int cudaDeviceSynchronize();
int cudaLaunchKernel(const void*, mock_dim3, mock_dim3, void**, std::size_t, void*);
/// `graph`: a std::uint32_t, its id; its nodes are `count` kernels.
int mock_cuda_graph_launch(std::uint32_t graph, const mock::Kernel* const* nodes, std::size_t count,
                           void* stream);
}
