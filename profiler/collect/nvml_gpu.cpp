#include "profiler/collect/nvml_gpu.h"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "profiler/store/node_gpus.h"

namespace gs::nvml {
namespace {

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
};
constexpr const char* kNames[Gpu::kMetrics] = {
    "utilisation [%]",    "memory utilisation [%]",  "memory used [MiB]",
    "SM clock [MHz]",     "memory clock [MHz]",      "power [W]",
    "temperature [C]",    "throttle reasons",        "SM active [%]",
    "SM occupancy [%]",   "tensor cores active [%]", "FP32 active [%]",
    "DRAM bandwidth [%]",
};
constexpr unsigned kGpmIds[] = {kGpmSmActive, kGpmSmOccupancy, kGpmTensorActive, kGpmFp32Active,
                                kGpmDramBandwidth};

void say_new(DeviceBatch& out, std::string& said, std::string text) {
    if (said == text) return;
    said = std::move(text);
    out.say(said);
}

}  // namespace

Gpu::~Gpu() {
    for (void* sample : samples_)
        if (sample != nullptr) f_->GpmSampleFree(sample);
}

void Gpu::sample(DeviceBatch& out) {
    if (!std::exchange(begun_, true)) begin(out);
    sample_basics(out);
    sample_gpm(out);
}

void Gpu::begin(DeviceBatch& out) {
    Memory memory{};
    f_->DeviceGetMemoryInfo(device_.handle, &memory);
    out.device(device_, memory.total);
    if (device_.sliced) {
        // Memory is what its slices have.
        for (const Metric m : {kBusy, kMemoryBusy, kMemoryUsed}) refused_[m] = true;
        no_gpm_ = "absent (cut into MIG slices, it has no counters for all of them)";
    }
    if (no_gpm_ == nullptr) prepare_gpm();
    if (no_gpm_ == nullptr) return;
    say_new(out, said_->gpm, fmt::format("GPU {} counters (GPM): {}", device_.number, no_gpm_));
    for (std::size_t m = kSmActive; m < kMetrics; ++m) refused_[m] = true;
}

/// GPM needs two samples; the first result is there with the second.
void Gpu::prepare_gpm() {
    GpmSupport support{kGpmVersion, 0};
    const bool slice = device_.whole != nullptr;
    if (slice && (device_.shared || f_->GpmMigSampleGet == nullptr)) {
        no_gpm_ = device_.shared ? "absent (those of its GPU instance are another slice's)"
                                 : "absent (the driver is too old)";
        return;
    }
    const Result r = f_->GpmQueryDeviceSupport(slice ? device_.whole : device_.handle, &support);
    if (r == kNoPermission)
        no_gpm_ = "not permitted";
    else if (r != kSuccess || support.supported == 0)
        no_gpm_ = "absent (Hopper and newer have it)";
    else if (f_->GpmSampleAlloc(&samples_[0]) != kSuccess ||
             f_->GpmSampleAlloc(&samples_[1]) != kSuccess)
        no_gpm_ = "absent (no sample buffers)";
}

void Gpu::put(DeviceBatch& out, std::size_t metric, Result result, double value) {
    const std::string name = fmt::format("GPU {} {}", device_.number, kNames[metric]);
    if (result == kSuccess) return out.counter(name, value);
    refused_[metric] = true;
    say_new(out, said_->refusals[metric],
            fmt::format("{}: {}", name,
                        result == kNoPermission   ? "not permitted"
                        : result == kNotSupported ? "absent on this GPU"
                                                  : f_->ErrorString(result)));
}

void Gpu::tell_reasons(DeviceBatch& out, unsigned long long reasons) {
    if (std::exchange(said_->reasons, reasons) == reasons) return;
    const std::string text = throttle_words(reasons);
    out.say(fmt::format("GPU {} clocks limited by: {}", device_.number,
                        text.empty() ? "nothing now" : text));
}

template <class Read>
void Gpu::read(DeviceBatch& out, std::size_t metric, Read read) {
    if (refused_[metric]) return;
    double value = 0;
    const Result result = read(value);
    put(out, metric, result, value);
}

void Gpu::sample_basics(DeviceBatch& out) {
    const Functions& f = *f_;
    void* const gpu = device_.handle;
    const auto number = [&](Metric metric, double scale, auto get) {
        read(out, metric, [&](double& value) {
            unsigned raw = 0;
            const Result result = get(&raw);
            value = raw * scale;
            return result;
        });
    };
    Utilization busy{};
    const Result known = f.DeviceGetUtilizationRates(gpu, &busy);
    read(out, kBusy, [&](double& v) { return v = busy.gpu, known; });
    read(out, kMemoryBusy, [&](double& v) { return v = busy.memory, known; });
    read(out, kMemoryUsed, [&](double& v) {
        Memory memory{};
        const Result result = f.DeviceGetMemoryInfo(gpu, &memory);
        v = static_cast<double>(memory.used) / (1 << 20);
        return result;
    });
    number(kSmClock, 1, [&](unsigned* v) { return f.DeviceGetClockInfo(gpu, kClockSm, v); });
    number(kMemClock, 1, [&](unsigned* v) { return f.DeviceGetClockInfo(gpu, kClockMemory, v); });
    number(kPower, 1e-3, [&](unsigned* v) { return f.DeviceGetPowerUsage(gpu, v); });
    number(kTemperature, 1,
           [&](unsigned* v) { return f.DeviceGetTemperature(gpu, kTemperatureGpu, v); });
    read(out, kThrottle, [&](double& v) {
        unsigned long long reasons = 0;
        const Result result = f.DeviceGetCurrentClocksThrottleReasons(gpu, &reasons);
        reasons &= ~kReasonIdle;
        if (result == kSuccess) tell_reasons(out, reasons);
        v = static_cast<double>(reasons);
        return result;
    });
}

void Gpu::sample_gpm(DeviceBatch& out) {
    if (samples_[1] == nullptr || refused_[kSmActive]) return;
    void* const sample = samples_[has_earlier_];
    const Result taken = device_.whole != nullptr
                             ? f_->GpmMigSampleGet(device_.whole, device_.instance, sample)
                             : f_->GpmSampleGet(device_.handle, sample);
    if (taken != kSuccess) return put(out, kSmActive, taken, 0);
    if (!std::exchange(has_earlier_, true)) return;
    GpmRequest request{};
    request.version = kGpmVersion;
    request.count = std::size(kGpmIds);
    request.earlier = samples_[0];
    request.later = samples_[1];
    for (std::size_t i = 0; i < std::size(kGpmIds); ++i)
        request.metrics[i] = {kGpmIds[i], kSuccess, 0, {}};
    const Result got = f_->GpmMetricsGet(&request);
    for (std::size_t i = 0; i < std::size(kGpmIds); ++i)
        read(out, kSmActive + i, [&](double& v) {
            v = request.metrics[i].value;
            return got != kSuccess ? got : request.metrics[i].result;
        });
    std::swap(samples_[0], samples_[1]);
}

}  // namespace gs::nvml
