// NVML's C interface as far as we call it, declared by us: its header is not part of the CUDA
// toolkit on every machine. Numbers and signatures are those of NVML's public interface. Used by
// nvml.cpp, nvml_gpu.cpp and by the mock in tests/support.
#pragma once

#include <cstddef>

namespace gs::nvml {

using Result = int;  ///< nvmlReturn_t
inline constexpr Result kSuccess = 0, kNotSupported = 3, kNoPermission = 4;

inline constexpr unsigned kClockSm = 1, kClockMemory = 2;  ///< nvmlClockType_t
inline constexpr unsigned kTemperatureGpu = 0;             ///< nvmlTemperatureSensors_t
inline constexpr unsigned long long kReasonIdle = 1;       ///< clocks are low because nothing runs

struct Utilization {  ///< percent of the last sample period
    unsigned gpu, memory;
};
struct Memory {  ///< bytes
    unsigned long long total, free, used;
};
struct GpmSupport {
    unsigned version, supported;
};
struct GpmMetric {
    unsigned id;
    Result result;
    double value;
    const char* texts[3];
};
/// As long as NVML's own, of which only the first `count` metrics are read.
struct GpmRequest {
    unsigned version, count;
    void *earlier, *later;
    GpmMetric metrics[128];
};
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmRequest, metrics) == 24);
inline constexpr unsigned kGpmVersion = 1;
inline constexpr unsigned kGpmSmActive = 2, kGpmSmOccupancy = 3, kGpmTensorActive = 5,
                          kGpmDramBandwidth = 10, kGpmFp32Active = 12;

struct Functions {
    Result (*Init)();
    Result (*Shutdown)();
    const char* (*ErrorString)(Result);
    Result (*DeviceGetCount)(unsigned*);
    Result (*DeviceGetHandleByIndex)(unsigned, void**);
    Result (*DeviceGetName)(void*, char*, unsigned room);
    Result (*DeviceGetUUID)(void*, char*, unsigned room);
    Result (*DeviceGetMigMode)(void*, unsigned* now, unsigned* after_reset);  ///< null: old driver
    Result (*DeviceGetUtilizationRates)(void*, Utilization*);
    Result (*DeviceGetMemoryInfo)(void*, Memory*);
    Result (*DeviceGetClockInfo)(void*, unsigned type, unsigned* mhz);
    Result (*DeviceGetPowerUsage)(void*, unsigned* milliwatts);
    Result (*DeviceGetTemperature)(void*, unsigned sensor, unsigned* celsius);
    Result (*DeviceGetCurrentClocksThrottleReasons)(void*, unsigned long long*);
    // Hopper and newer, drivers since 2022
    Result (*GpmQueryDeviceSupport)(void*, GpmSupport*);
    Result (*GpmSampleAlloc)(void**);
    Result (*GpmSampleFree)(void*);
    Result (*GpmSampleGet)(void*, void* sample);
    Result (*GpmMetricsGet)(GpmRequest*);
    // of slices (MIG); null: old driver
    Result (*DeviceGetMaxMigDeviceCount)(void*, unsigned*);
    Result (*DeviceGetMigDeviceHandleByIndex)(void*, unsigned, void**);
    Result (*DeviceGetGpuInstanceId)(void* slice, unsigned*);
    Result (*GpmMigSampleGet)(void*, unsigned instance, void* sample);
};

}  // namespace gs::nvml
