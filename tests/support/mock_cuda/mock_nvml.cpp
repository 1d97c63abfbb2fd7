// An NVML without a GPU: libnvidia-ml.so.1 for tests, of MOCK_CUDA_DEVICES (1) GPUs. MOCK_NVML_LOG:
// a file that gets "init PID" and, for each time a GPU is asked how busy it is, "ask PID GPU".
// MOCK_NVML_GPM: "yes" (default), "old" (no
// Hopper), "denied"; MOCK_NVML_POWER=denied; MOCK_NVML_THROTTLE: bits of the throttle reasons;
// MOCK_NVML_INIT: nvmlInit's result; MOCK_NVML_MIG: CUDA's GPU is a slice, and its uuid in CUDA is
// the slice's own ("slice") or its GPU's ("parent"), or NVML has the slice ("slices");
// MOCK_NVML_HANG: calls that ask how busy a GPU is never return.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "profiler/collect/nvml_abi.h"

namespace nvml = gs::nvml;

namespace {

bool is(const char* variable, const char* value) {
    const char* text = std::getenv(variable);
    return text != nullptr && std::strcmp(text, value) == 0;
}
unsigned long long number(const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 0) : 0;
}
constexpr int kMostGpus = 8;
char gpus[kMostGpus];        // their addresses are the handles
char slices[2 * kMostGpus];  // two compute instances of one GPU instance each
bool is_slice(void* handle) { return handle >= slices && handle < slices + 2 * kMostGpus; }
int number_of(void* handle) { return static_cast<int>(static_cast<char*>(handle) - gpus); }
unsigned samples[kMostGpus];  // taken so far

void log(const char* what, int gpu) {
    const char* path = std::getenv("MOCK_NVML_LOG");
    const int file = path != nullptr ? ::open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (file < 0) return;
    ::dprintf(file, "%s %d %d\n", what, static_cast<int>(::getpid()), gpu);
    ::close(file);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
    log("init", 0);
    return static_cast<int>(number("MOCK_NVML_INIT"));
}
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int result) {
    return result == nvml::kNoPermission ? "Insufficient Permissions"
           : result == 9                 ? "Driver Not Loaded"
                                         : "Unknown Error";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    const unsigned long long wanted = number("MOCK_CUDA_DEVICES");
    *count = wanted == 0 ? 1 : static_cast<unsigned>(wanted);
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
    if (index >= kMostGpus) return 2;
    *handle = &gpus[index];
    return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned room) {
    std::snprintf(name, room, "Mock GPU (no hardware)");
    return 0;
}
int nvmlDeviceGetUUID(void* gpu, char* uuid, unsigned room) {
    const unsigned byte =
        is_slice(gpu)
            ? 0xB0u + static_cast<unsigned>((static_cast<char*>(gpu) - slices) / kMostGpus)
        : is("MOCK_NVML_MIG", "slice") ? 0x50
                                       : 0xA0u + number_of(gpu);
    int length = std::snprintf(uuid, room, is_slice(gpu) ? "MIG-" : "GPU-");
    for (int i = 0; i < 16; ++i)
        length += std::snprintf(uuid + length, room - length, "%s%02x",
                                i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", byte);
    return 0;
}
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* later) {
    *now = *later = is("MOCK_NVML_MIG", "parent") || is("MOCK_NVML_MIG", "slices") ? 1 : 0;
    return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
    *count = 7;
    return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void* gpu, unsigned index, void** slice) {
    if ((index != 1 && index != 2) || !is("MOCK_NVML_MIG", "slices")) return 6;  // not found
    *slice = &slices[(index - 1) * kMostGpus + number_of(gpu)];
    return 0;
}
int nvmlDeviceGetGpuInstanceId(void*, unsigned* instance) {
    *instance = 5;
    return 0;
}
int nvmlDeviceGetUtilizationRates(void* gpu, nvml::Utilization* u) {
    if (is_slice(gpu)) return nvml::kNotSupported;
    const bool hangs = std::getenv("MOCK_NVML_HANG") != nullptr;
    log("ask", number_of(gpu));
    while (hangs) ::pause();
    *u = {87, 41};
    return 0;
}
int nvmlDeviceGetMemoryInfo(void* gpu, nvml::Memory* memory) {
    *memory = {10ull << 30, 7ull << 30, 3ull << 30};
    if (is_slice(gpu)) return 0;
    *memory = {80ull << 30, 68ull << 30, 12ull << 30};
    return 0;
}
int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) {
    *mhz = type == nvml::kClockSm ? 1755 : 2619;
    return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
    if (is("MOCK_NVML_POWER", "denied")) return nvml::kNoPermission;
    *milliwatts = 612'500;
    return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned*) { return nvml::kNotSupported; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
    *reasons = number("MOCK_NVML_THROTTLE");
    return 0;
}
int nvmlGpmQueryDeviceSupport(void*, nvml::GpmSupport* support) {
    if (is("MOCK_NVML_GPM", "denied")) return nvml::kNoPermission;
    support->supported = is("MOCK_NVML_GPM", "old") ? 0 : 1;
    return 0;
}
int nvmlGpmSampleAlloc(void** sample) {
    *sample = std::malloc(8);
    return 0;
}
int nvmlGpmSampleFree(void* sample) {
    std::free(sample);
    return 0;
}
int nvmlGpmSampleGet(void* gpu, void* sample) {
    const unsigned taken = ++samples[number_of(gpu)];
    std::memcpy(sample, &taken, sizeof taken);
    return 0;
}
int nvmlGpmMigSampleGet(void* gpu, unsigned instance, void* sample) {
    return instance == 5 ? nvmlGpmSampleGet(gpu, sample) : 2;
}
int nvmlGpmMetricsGet(nvml::GpmRequest* request) {
    unsigned earlier = 0, later = 0;
    std::memcpy(&earlier, request->earlier, sizeof earlier);
    std::memcpy(&later, request->later, sizeof later);
    if (request->version != nvml::kGpmVersion || later != earlier + 1)
        return 2;  // not two samples in a row
    for (unsigned i = 0; i < request->count; ++i) {
        nvml::GpmMetric& metric = request->metrics[i];
        metric.result = metric.id == nvml::kGpmTensorActive ? nvml::kNotSupported : 0;
        metric.value = metric.id == nvml::kGpmSmActive      ? 73.5
                       : metric.id == nvml::kGpmSmOccupancy ? 44
                       : metric.id == nvml::kGpmFp32Active  ? 31.5
                                                            : 58.25;
    }
    return 0;
}

}  // extern "C"
