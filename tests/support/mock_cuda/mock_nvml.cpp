// An NVML without a GPU: libnvidia-ml.so.1 for tests. MOCK_NVML_GPM: "yes" (default), "old" (no
// Hopper), "denied"; MOCK_NVML_POWER=denied; MOCK_NVML_THROTTLE: bits of the throttle reasons;
// MOCK_NVML_INIT: nvmlInit's result; MOCK_NVML_MIG: CUDA's GPU is a slice, of which CUDA tells the
// slice's own uuid ("slice") or its GPU's ("parent").

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "profiler/inject/nvml_abi.h"

namespace nvml = gs::inject::nvml;

namespace {

bool is(const char* variable, const char* value) {
    const char* text = std::getenv(variable);
    return text != nullptr && std::strcmp(text, value) == 0;
}
unsigned long long number(const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 0) : 0;
}
int gpu;           // its address is the handle
unsigned samples;  // taken so far

}  // namespace

extern "C" {

int nvmlInit_v2() { return static_cast<int>(number("MOCK_NVML_INIT")); }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int result) {
    return result == nvml::kNoPermission ? "Insufficient Permissions"
           : result == 9                 ? "Driver Not Loaded"
                                         : "Unknown Error";
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
    if (std::strncmp(uuid, "GPU-a0a0a0a0-", 13) != 0 || is("MOCK_NVML_MIG", "slice")) return 6;
    *handle = &gpu;
    return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** handle) {
    *handle = &gpu;  // that of a slice is its parent's
    return 0;
}
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* later) {
    *now = *later = is("MOCK_NVML_MIG", "parent") ? 1 : 0;
    return 0;
}
int nvmlDeviceGetUtilizationRates(void*, nvml::Utilization* u) {
    *u = {87, 41};
    return 0;
}
int nvmlDeviceGetMemoryInfo(void*, nvml::Memory* memory) {
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
int nvmlGpmSampleGet(void*, void* sample) {
    ++samples;
    std::memcpy(sample, &samples, sizeof samples);
    return 0;
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
