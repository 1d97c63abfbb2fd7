#include "tests/support/mock_cuda/mock_cuda.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

constexpr int kNotInitialized = 3, kInvalidValue = 1;
constexpr std::uint64_t kLaunchLatency = 3000, kBytesPerNs = 20;

std::uint64_t now_ns() {
    timespec t{};
    ::clock_gettime(CLOCK_REALTIME, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(t.tv_nsec);
}
void sleep_until(std::uint64_t time) {
    for (std::uint64_t now = now_ns(); now < time; now = now_ns()) {
        const timespec pause{0, static_cast<long>(std::min<std::uint64_t>(time - now, 200'000))};
        ::nanosleep(&pause, nullptr);
    }
}
int from_environment(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : otherwise;
}

struct Stream {
    std::uint64_t busy_until = 0;
};
struct Device {
    std::mutex mutex;
    std::map<std::uint32_t, Stream> streams;
    std::map<std::uint64_t, std::uint64_t> memory;  // address -> bytes
    std::map<std::uint64_t, std::uint64_t> pinned;
    std::uint64_t next_address = 0x7f0000000000;
    std::uint32_t next_stream = 13;
    std::uint64_t busy_until = 0;  // by whatever stream
};
Device& device() {
    static Device* d = new Device;  // threads may outlive main()
    return *d;
}
std::atomic<bool> initialized{false};
// As a driver may: who calls it from inside its own initialisation waits for himself, others wait
// for the end of it.
std::mutex initializing;
thread_local bool inside_initialization = false;
bool ready() {
    if (inside_initialization) {
        std::fputs("mock CUDA: a driver call from inside cuInit() never returns\n", stderr);
        std::abort();
    }
    const std::lock_guard until_over(initializing);
    return initialized;
}
std::atomic<std::uint32_t> next_correlation{1};
std::atomic<const mock::Observer*> observer{nullptr};
thread_local std::uint32_t last_correlation = 0;
thread_local std::uint32_t current_device = 0;

std::uint32_t stream_id(void* stream) {
    return stream == nullptr ? 7
                             : static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream));
}

/// One API call: reported at its begin and its end, with its own correlation.
class CallScope {
  public:
    CallScope(bool driver, std::uint32_t cbid) {
        call_.driver = driver;
        call_.cbid = cbid;
        call_.correlation = last_correlation = next_correlation.fetch_add(1);
        call_.tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
        call_.pthread =
            static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(::pthread_self()));
        call_.start = now_ns();
        tell(false);
    }
    ~CallScope() {
        call_.end = now_ns();
        tell(true);
    }
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;
    std::uint32_t correlation() const { return call_.correlation; }
    std::uint64_t start() const { return call_.start; }
    int result(int code) {
        call_.result = code;
        return code;
    }

  private:
    void tell(bool exit) const {
        const mock::Observer* o = observer.load();
        if (o != nullptr && o->call != nullptr) o->call(call_, exit);
    }
    mock::Call call_;
};

/// Where MOCK_CUDA_BUSY says how long the GPU had work; null: nobody asked.
std::uint64_t* busy_total() {
    const char* path = std::getenv("MOCK_CUDA_BUSY");
    const int file = path != nullptr ? ::open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ::ftruncate(file, sizeof(std::uint64_t)) != 0) return nullptr;
    void* at = ::mmap(nullptr, sizeof(std::uint64_t), PROT_WRITE, MAP_SHARED, file, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::uint64_t*>(at);
}

/// With the device's lock held.
void count_busy(std::uint64_t begin, std::uint64_t end) {
    static std::uint64_t* const total = busy_total();
    begin = std::max(begin, device().busy_until);
    if (end <= begin) return;
    device().busy_until = end;
    if (total != nullptr) *total += end - begin;
}

/// Puts `work` behind what its stream has to do already.
void enqueue(mock::Work work, void* stream, std::uint64_t duration, const CallScope& call) {
    work.stream = stream_id(stream);
    work.device = current_device;
    work.context = current_device + 1;
    work.correlation = call.correlation();
    {
        const std::lock_guard lock(device().mutex);
        Stream& s = device().streams[work.stream];
        work.start = std::max(now_ns() + kLaunchLatency, s.busy_until + 500);
        work.end = s.busy_until = work.start + duration;
        count_busy(work.start, work.end);
    }
    const mock::Observer* o = observer.load();
    if (o != nullptr && o->work != nullptr) o->work(work);
}

void launch(const void* function, const unsigned (&grid)[3], const unsigned (&block)[3],
            std::size_t shared, void* stream, const CallScope& call) {
    mock::Work work;
    work.kernel = static_cast<const mock::Kernel*>(function);
    std::copy(std::begin(grid), std::end(grid), work.grid);
    std::copy(std::begin(block), std::end(block), work.block);
    work.dynamic_shared = static_cast<std::uint32_t>(shared);
    enqueue(work, stream, work.kernel->duration_ns, call);
}

void wait_for(std::uint32_t type, std::uint32_t stream, const CallScope& call) {
    std::uint64_t until = 0;
    {
        const std::lock_guard lock(device().mutex);
        for (const auto& [id, s] : device().streams)
            if (type == 4 || id == stream) until = std::max(until, s.busy_until);
    }
    mock::Wait wait{
        type, current_device + 1, type == 4 ? 0xFFFFFFFFu : stream, call.correlation(), now_ns(),
        0};
    sleep_until(until);
    wait.end = now_ns();
    const mock::Observer* o = observer.load();
    if (o != nullptr && o->wait != nullptr) o->wait(wait);
}

std::uint64_t allocate(std::size_t bytes, const CallScope& call) {
    mock::Allocation a{false, 0, bytes, now_ns(), call.correlation()};
    {
        const std::lock_guard lock(device().mutex);
        a.address = device().next_address;
        device().next_address += (bytes + 511) & ~std::size_t{511};
        device().memory[a.address] = bytes;
    }
    const mock::Observer* o = observer.load();
    if (o != nullptr && o->allocation != nullptr) o->allocation(a);
    return a.address;
}

int release(std::uint64_t address, const CallScope& call) {
    mock::Allocation a{true, address, 0, now_ns(), call.correlation()};
    {
        const std::lock_guard lock(device().mutex);
        const auto found = device().memory.find(address);
        if (found == device().memory.end()) return kInvalidValue;
        a.bytes = found->second;
        device().memory.erase(found);
    }
    const mock::Observer* o = observer.load();
    if (o != nullptr && o->allocation != nullptr) o->allocation(a);
    return 0;
}

mock::Memory memory_of(const void* address) {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    const std::lock_guard lock(device().mutex);
    const auto inside = [at](const std::map<std::uint64_t, std::uint64_t>& ranges) {
        auto next = ranges.upper_bound(at);
        return next != ranges.begin() && (--next, at < next->first + next->second);
    };
    return inside(device().memory)   ? mock::kDevice
           : inside(device().pinned) ? mock::kPinned
                                     : mock::kPageable;
}

int copy(void* to, const void* from, std::size_t bytes, void* stream, const CallScope& call) {
    mock::Work work;
    work.kind = mock::WorkKind::copy;
    work.bytes = bytes;
    work.source = memory_of(from);
    work.target = memory_of(to);
    enqueue(work, stream, 1500 + bytes / kBytesPerNs, call);
    // A copy to pageable memory returns when it is done, whatever its name says.
    if (work.target == mock::kPageable) {
        std::uint64_t until = 0;
        {
            const std::lock_guard lock(device().mutex);
            until = device().streams[stream_id(stream)].busy_until;
        }
        sleep_until(until);
    }
    return 0;
}

}  // namespace

extern "C" {

const mock::Observer* mock_cuda_set_observer(const mock::Observer* o) {
    return observer.exchange(o);
}
std::uint32_t mock_cuda_last_correlation() { return last_correlation; }

int cuInit(unsigned) {
    static std::once_flag once;
    std::call_once(once, [] {
        const std::lock_guard busy(initializing);
        inside_initialization = true;
        const char* path = std::getenv("CUDA_INJECTION64_PATH");
        void* library = path != nullptr ? ::dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
        if (auto* entry = library != nullptr
                              ? reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"))
                              : nullptr)
            entry();
        inside_initialization = false;
        initialized = true;
    });
    return 0;
}

int cuDriverGetVersion(int* version) {
    *version = from_environment("MOCK_CUDA_VERSION", 13000);
    return 0;
}

int cuDeviceGetCount(int* count) {
    if (!ready()) return kNotInitialized;
    *count = from_environment("MOCK_CUDA_DEVICES", 1);
    return 0;
}

int cuDeviceGet(int* handle, int ordinal) {
    *handle = ordinal;
    return ready() ? 0 : kNotInitialized;
}

int cuDeviceGetName(char* name, int room, int) {
    std::snprintf(name, static_cast<std::size_t>(room), "Mock GPU (no hardware)");
    return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int of) {
    switch (attribute) {
        case 8:
            *value = 49152;
            return 0;
        case 13:
            *value = 1980000;
            return 0;
        case 16:
            *value = 132;
            return 0;
        case 33:
            *value = 0x10 + of;
            return 0;
        case 36:
            *value = 2619000;
            return 0;
        case 37:
            *value = 5120;
            return 0;
        case 38:
            *value = 52428800;
            return 0;
        case 39:
            *value = 2048;
            return 0;
        case 75:
            *value = 9;
            return 0;
        case 81:
            *value = 233472;
            return 0;
        case 82:
            *value = 65536;
            return 0;
        case 106:
            *value = 32;
            return 0;
        case 34:
        case 50:
        case 76:
            *value = 0;
            return 0;
        default:
            return kInvalidValue;
    }
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    *bytes = std::size_t{80} << 30;
    return 0;
}

int cuDeviceGetUuid_v2(void* uuid, int of) {
    std::memset(uuid, 0xA0 + of, 16);
    return 0;
}

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
    const CallScope call(true, mock::kCuMemAlloc);
    *address = allocate(bytes, call);
    return 0;
}
int cuMemFree_v2(std::uint64_t address) {
    CallScope call(true, mock::kCuMemFree);
    return call.result(release(address, call));
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
    const CallScope call(true, mock::kCuMemcpyHtoDAsync);
    return copy(reinterpret_cast<void*>(to), from, bytes, stream, call);
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
    const CallScope call(true, mock::kCuMemcpyDtoHAsync);
    return copy(to, reinterpret_cast<const void*>(from), bytes, stream, call);
}
// What a program needs before its first launch by the driver's API alone.
int cuDevicePrimaryCtxRetain(void** context, int) {
    static int only;
    *context = &only;
    return 0;
}
int cuCtxSetCurrent(void*) { return 0; }
int cuModuleLoadData(void** module, const void*) { return cuDevicePrimaryCtxRetain(module, 0); }
int cuModuleGetFunction(void** function, void*, const char*) {
    static mock::Kernel kernel{"nothing", 1000};
    *function = &kernel;
    return 0;
}
int cuStreamSynchronize(void* stream) {
    const CallScope call(true, mock::kCuStreamSynchronize);
    wait_for(3, stream_id(stream), call);
    return 0;
}
int cuLaunchKernel(const void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, void* stream, void**, void**) {
    const CallScope call(true, mock::kCuLaunchKernel);
    launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, call);
    return 0;
}

int cudaMalloc(void** address, std::size_t bytes) {
    cuInit(0);
    const CallScope call(false, mock::kCudaMalloc);
    *address = reinterpret_cast<void*>(allocate(bytes, call));
    return 0;
}
int cudaFree(void* address) {
    cuInit(0);
    CallScope call(false, mock::kCudaFree);
    return address == nullptr
               ? 0
               : call.result(release(reinterpret_cast<std::uint64_t>(address), call));
}
int cudaMallocHost(void** address, std::size_t bytes) {
    cuInit(0);
    const CallScope call(false, mock::kCudaMallocHost);
    *address = std::malloc(bytes);
    const std::lock_guard lock(device().mutex);
    device().pinned[reinterpret_cast<std::uint64_t>(*address)] = bytes;
    return 0;
}
int cudaGetLastError() {
    const CallScope call(false, mock::kCudaGetLastError);
    return 0;
}
int cudaSetDevice(int ordinal) {
    cuInit(0);
    current_device = static_cast<std::uint32_t>(ordinal);
    return 0;
}
int cudaStreamCreate(void** stream) {
    cuInit(0);
    const std::lock_guard lock(device().mutex);
    *stream = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device().next_stream++));
    return 0;
}
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void* stream) {
    const CallScope call(false, mock::kCudaMemcpyAsync);
    return copy(to, from, bytes, stream, call);
}
int cudaMemcpyPeerAsync(void*, int, const void*, int, std::size_t bytes, void* stream) {
    const CallScope call(false, 161);
    mock::Work work;
    work.kind = mock::WorkKind::peer_copy;
    work.bytes = bytes;
    work.source = work.target = mock::kDevice;
    enqueue(work, stream, 2000 + bytes / kBytesPerNs, call);
    return 0;
}
int cudaMemsetAsync(void* address, int, std::size_t bytes, void* stream) {
    const CallScope call(false, mock::kCudaMemsetAsync);
    mock::Work work;
    work.kind = mock::WorkKind::fill;
    work.bytes = bytes;
    work.target = memory_of(address);
    enqueue(work, stream, 1000 + bytes / (10 * kBytesPerNs), call);
    return 0;
}
int cudaStreamSynchronize(void* stream) {
    const CallScope call(false, mock::kCudaStreamSynchronize);
    wait_for(3, stream_id(stream), call);
    return 0;
}
int cudaDeviceSynchronize() {
    const CallScope call(false, mock::kCudaDeviceSynchronize);
    wait_for(4, 0, call);
    return 0;
}
int cudaLaunchKernel(const void* function, mock_dim3 grid, mock_dim3 block, void**,
                     std::size_t shared, void* stream) {
    const CallScope call(false, mock::kCudaLaunchKernel);
    launch(function, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, stream, call);
    return 0;
}
int mock_cuda_graph_launch(std::uint32_t graph, const mock::Kernel* const* nodes, std::size_t count,
                           void* stream) {
    const CallScope call(false, mock::kCudaGraphLaunch);
    mock::Work whole;
    whole.kind = mock::WorkKind::graph;
    whole.graph = graph;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        mock::Work node;
        node.kernel = nodes[i];
        node.graph = graph;
        enqueue(node, stream, nodes[i]->duration_ns, call);
        total += nodes[i]->duration_ns;
    }
    // The graph as a whole ends with its last node; the stream is not busy any longer for it.
    whole.correlation = call.correlation();
    whole.device = current_device;
    whole.context = current_device + 1;
    whole.stream = stream_id(stream);
    {
        const std::lock_guard lock(device().mutex);
        whole.end = device().streams[whole.stream].busy_until;
        whole.start = whole.end - total;
    }
    const mock::Observer* o = observer.load();
    if (o != nullptr && o->work != nullptr) o->work(whole);
    return 0;
}

}  // extern "C"
