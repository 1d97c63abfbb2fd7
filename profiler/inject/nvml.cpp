#include "profiler/inject/nvml.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/record/scope.h"
#include "profiler/inject/nvml_abi.h"
#include "profiler/inject/settings.h"

namespace gs::inject::nvml {
namespace {

constexpr std::uint64_t kInterval = 1'000'000'000;

enum Metric : std::size_t {
    kBusy,
    kMemoryBusy,
    kMemoryUsed,
    kSmClock,
    kMemClock,
    kPower,
    kTemperature,
    kThrottle,
    kSmActive,  // GPM from here
    kSmOccupancy,
    kTensorActive,
    kFp32Active,
    kDram,
    kMetricCount
};
constexpr const char* kNames[kMetricCount] = {
    "utilisation [%]",    "memory utilisation [%]",  "memory used [MiB]",
    "SM clock [MHz]",     "memory clock [MHz]",      "power [W]",
    "temperature [C]",    "throttle reasons",        "SM active [%]",
    "SM occupancy [%]",   "tensor cores active [%]", "FP32 active [%]",
    "DRAM bandwidth [%]",
};
constexpr unsigned kGpmIds[] = {kGpmSmActive, kGpmSmOccupancy, kGpmTensorActive, kGpmFp32Active,
                                kGpmDramBandwidth};

/// Bit i of the throttle reasons, in words.
constexpr const char* kReasons[] = {"idle",
                                    "clocks set by the application",
                                    "power cap",
                                    "hardware slowdown",
                                    "sync boost",
                                    "too hot (software)",
                                    "too hot (hardware)",
                                    "power brake",
                                    "display clocks"};

struct Gpu {
    unsigned ordinal = 0;  // CUDA's number, as in the ring's table
    void* handle = nullptr;
    void* samples[2] = {};  // GPM: the earlier, the later
    bool has_earlier = false;
    StringId names[kMetricCount] = {};
    bool refused[kMetricCount] = {};  // said once, not asked again
    unsigned long long reasons = 0;
};

// Of the endpoint's thread alone.
struct State {
    void* library = nullptr;
    Functions f{};
    bool given_up = false;
    std::uint64_t next = 0;
    Gpu gpus[abi::kGpuSlots];
    std::uint32_t count = 0;
};
constinit State state;

void say(const char* format, const char* first, unsigned ordinal = 0) noexcept {
    char text[abi::kMaxStringBytes + 1];
    std::snprintf(text, sizeof text, format, first, ordinal);
    record_instant(register_string(text));
}

bool look_up(void* library, Functions& f) noexcept {
    bool complete = true;
    const auto need = [&]<class F>(F& function, const char* name) {
        function = reinterpret_cast<F>(::dlsym(library, name));
        complete = complete && function != nullptr;
    };
    need(f.Init, "nvmlInit_v2");
    need(f.Shutdown, "nvmlShutdown");
    need(f.ErrorString, "nvmlErrorString");
    need(f.DeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID");
    need(f.DeviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates");
    need(f.DeviceGetMemoryInfo, "nvmlDeviceGetMemoryInfo");
    need(f.DeviceGetClockInfo, "nvmlDeviceGetClockInfo");
    need(f.DeviceGetPowerUsage, "nvmlDeviceGetPowerUsage");
    need(f.DeviceGetTemperature, "nvmlDeviceGetTemperature");
    need(f.DeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    const bool basics = complete;
    need(f.DeviceGetMigMode, "nvmlDeviceGetMigMode");
    complete = basics;
    need(f.GpmQueryDeviceSupport, "nvmlGpmQueryDeviceSupport");
    need(f.GpmSampleAlloc, "nvmlGpmSampleAlloc");
    need(f.GpmSampleFree, "nvmlGpmSampleFree");
    need(f.GpmSampleGet, "nvmlGpmSampleGet");
    need(f.GpmMetricsGet, "nvmlGpmMetricsGet");
    if (!complete) f.GpmQueryDeviceSupport = nullptr;
    return basics;
}

bool open_library() noexcept {
    if (state.library != nullptr) return true;
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    const char* problem = nullptr;
    Result result = kSuccess;
    if (library == nullptr)
        problem = "libnvidia-ml.so.1 was not found";
    else if (!look_up(library, state.f))
        problem = "libnvidia-ml.so.1 is too old";
    else if (result = state.f.Init(); result != kSuccess)
        problem = state.f.ErrorString(result);
    if (problem == nullptr) {
        state.library = library;
        return true;
    }
    say(result == kNoPermission ? "NVML: not permitted (%s)" : "NVML: absent (%s)", problem);
    if (library != nullptr) ::dlclose(library);
    state.given_up = true;
    return false;
}

// ---- which GPUs ----

/// Null for a slice (MIG): its uuid is not the GPU's, or is that of a GPU that is cut into slices,
/// whose power and memory are not the slice's. So a GPU is not looked for by its place on the bus.
void* handle_of(const abi::GpuDevice& device) noexcept {
    const std::uint8_t* u = device.uuid;
    char uuid[48];
    std::snprintf(uuid, sizeof uuid,
                  "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
                  u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
                  u[14], u[15]);
    void* handle = nullptr;
    if (state.f.DeviceGetHandleByUUID(uuid, &handle) != kSuccess) return nullptr;
    unsigned sliced = 0, later = 0;
    const bool known = state.f.DeviceGetMigMode != nullptr &&
                       state.f.DeviceGetMigMode(handle, &sliced, &later) == kSuccess;
    return known && sliced != 0 ? nullptr : handle;
}

/// GPM needs two samples; the first result is there with the second.
void prepare_gpm(Gpu& gpu) noexcept {
    GpmSupport support{kGpmVersion, 0};
    const char* problem = nullptr;
    if (state.f.GpmQueryDeviceSupport == nullptr)
        problem = "absent (the driver is too old)";
    else if (const Result r = state.f.GpmQueryDeviceSupport(gpu.handle, &support);
             r == kNoPermission)
        problem = "not permitted";
    else if (r != kSuccess || support.supported == 0)
        problem = "absent (Hopper and newer have it)";
    else if (state.f.GpmSampleAlloc(&gpu.samples[0]) != kSuccess ||
             state.f.GpmSampleAlloc(&gpu.samples[1]) != kSuccess)
        problem = "absent (no sample buffers)";
    if (problem == nullptr) return;
    say("GPU %2$u counters (GPM): %1$s", problem, gpu.ordinal);
    for (std::size_t m = kSmActive; m < kMetricCount; ++m) gpu.refused[m] = true;
}

/// The GPUs this process uses, once CUDA has told which.
void find_gpus() noexcept {
    const abi::RingHeader* header = detail::ring_header();
    if (state.count > 0 || header == nullptr) return;
    for (unsigned i = 0; i < abi::kGpuSlots; ++i) {
        const abi::GpuDevice& device = header->devices[i];
        if (device.name == 0) continue;
        Gpu& gpu = state.gpus[state.count];
        gpu = {};
        gpu.ordinal = i;
        gpu.handle = handle_of(device);
        if (gpu.handle == nullptr) {
            say("GPU %2$u: %1$s", "a slice of a GPU (MIG) has no counters of its own", i);
            state.given_up = true;
            continue;
        }
        prepare_gpm(gpu);
        ++state.count;
    }
    if (state.count > 0) state.given_up = false;
}

// ---- samples ----

void put(Gpu& gpu, Metric metric, Result result, double value) noexcept {
    char text[abi::kMaxStringBytes + 1];
    if (gpu.names[metric] == 0) {
        std::snprintf(text, sizeof text, "GPU %u %s", gpu.ordinal, kNames[metric]);
        gpu.names[metric] = register_string(text);
    }
    if (result == kSuccess) return record_counter(gpu.names[metric], value);
    gpu.refused[metric] = true;
    std::snprintf(text, sizeof text, "GPU %u %s: %s", gpu.ordinal, kNames[metric],
                  result == kNoPermission   ? "not permitted"
                  : result == kNotSupported ? "absent on this GPU"
                                            : state.f.ErrorString(result));
    record_instant(register_string(text));
}

void tell_reasons(Gpu& gpu, unsigned long long reasons) noexcept {
    if (reasons == gpu.reasons) return;
    gpu.reasons = reasons;
    char text[abi::kMaxStringBytes + 1] = "nothing any more";
    std::size_t length = 0;
    for (std::size_t bit = 0; bit < std::size(kReasons); ++bit)
        if ((reasons >> bit & 1) != 0 && length < sizeof text)
            length +=
                static_cast<std::size_t>(std::snprintf(text + length, sizeof text - length, "%s%s",
                                                       length == 0 ? "" : ", ", kReasons[bit]));
    say("GPU %2$u clocks held back by: %1$s", text, gpu.ordinal);
}

template <class Read>
void sample(Gpu& gpu, Metric metric, Read read) noexcept {
    if (gpu.refused[metric]) return;
    double value = 0;
    const Result result = read(value);
    put(gpu, metric, result, value);
}

void sample_basics(Gpu& gpu) noexcept {
    const Functions& f = state.f;
    const auto number = [&](double scale, auto get) {
        return [scale, get](double& value) {
            unsigned raw = 0;
            const Result result = get(&raw);
            value = raw * scale;
            return result;
        };
    };
    Utilization busy{};
    const Result known = f.DeviceGetUtilizationRates(gpu.handle, &busy);
    sample(gpu, kBusy, [&](double& v) { return v = busy.gpu, known; });
    sample(gpu, kMemoryBusy, [&](double& v) { return v = busy.memory, known; });
    sample(gpu, kMemoryUsed, [&](double& v) {
        Memory memory{};
        const Result result = f.DeviceGetMemoryInfo(gpu.handle, &memory);
        v = static_cast<double>(memory.used) / (1 << 20);
        return result;
    });
    sample(gpu, kSmClock,
           number(1, [&](unsigned* v) { return f.DeviceGetClockInfo(gpu.handle, kClockSm, v); }));
    sample(gpu, kMemClock, number(1, [&](unsigned* v) {
               return f.DeviceGetClockInfo(gpu.handle, kClockMemory, v);
           }));
    sample(gpu, kPower,
           number(1e-3, [&](unsigned* v) { return f.DeviceGetPowerUsage(gpu.handle, v); }));
    sample(gpu, kTemperature, number(1, [&](unsigned* v) {
               return f.DeviceGetTemperature(gpu.handle, kTemperatureGpu, v);
           }));
    sample(gpu, kThrottle, [&](double& v) {
        unsigned long long reasons = 0;
        const Result result = f.DeviceGetCurrentClocksThrottleReasons(gpu.handle, &reasons);
        reasons &= ~kReasonIdle;
        if (result == kSuccess) tell_reasons(gpu, reasons);
        v = static_cast<double>(reasons);
        return result;
    });
}

void sample_gpm(Gpu& gpu) noexcept {
    if (gpu.samples[1] == nullptr || gpu.refused[kSmActive]) return;
    static constinit GpmRequest request{};
    const Result taken = state.f.GpmSampleGet(gpu.handle, gpu.samples[gpu.has_earlier]);
    if (taken != kSuccess) return put(gpu, kSmActive, taken, 0);
    if (!gpu.has_earlier) {
        gpu.has_earlier = true;
        return;
    }
    request.version = kGpmVersion;
    request.count = std::size(kGpmIds);
    request.earlier = gpu.samples[0];
    request.later = gpu.samples[1];
    for (std::size_t i = 0; i < std::size(kGpmIds); ++i)
        request.metrics[i] = {kGpmIds[i], kSuccess, 0, {}};
    const Result got = state.f.GpmMetricsGet(&request);
    for (std::size_t i = 0; i < std::size(kGpmIds); ++i)
        sample(gpu, static_cast<Metric>(kSmActive + i), [&](double& v) {
            v = request.metrics[i].value;
            return got != kSuccess ? got : request.metrics[i].result;
        });
    std::swap(gpu.samples[0], gpu.samples[1]);
}

}  // namespace

void tick() noexcept {
    const std::uint64_t now = monotonic_ns();
    if (now < state.next || state.given_up || !is_recording()) return;
    const abi::RingHeader* header = detail::ring_header();
    if (header == nullptr || header->devices[0].name == 0 || !settings().nvml) return;
    state.next = now + kInterval;
    if (!open_library()) return;
    find_gpus();
    for (std::uint32_t i = 0; i < state.count; ++i) {
        sample_basics(state.gpus[i]);
        sample_gpm(state.gpus[i]);
    }
}

void release() noexcept {
    if (state.library != nullptr) {
        for (std::uint32_t i = 0; i < state.count; ++i)
            for (void* sample : state.gpus[i].samples)
                if (sample != nullptr) state.f.GpmSampleFree(sample);
        state.f.Shutdown();
        ::dlclose(state.library);
    }
    state = State{};
}

void forget_in_child() noexcept { state = State{}; }

}  // namespace gs::inject::nvml
