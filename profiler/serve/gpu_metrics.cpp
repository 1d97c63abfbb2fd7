#include "profiler/serve/gpu_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiler/store/node_gpus.h"

namespace gs::serve {
namespace {

/// A counter as DeviceSampler names it, as Prometheus wants it, and OpenTelemetry.
struct Family {
    std::string_view counter;
    const char *name, *unit, *help;
    double scale;
    const char* semantic = "";
    /// Until the next release: OpenTelemetry's "utilization" is the share of a capacity in use.
    const char* old_name = nullptr;
};
constexpr double kPercent = 0.01, kMiB = 1 << 20, kMHz = 1e6;
constexpr std::size_t kMemoryUsed = 2, kThrottle = 7;
constexpr std::array<Family, GpuMetrics::kFamilies> kTable{{
    {"utilisation [%]", "gausscope_gpu_kernel_active_ratio", "ratio",
     "Share of the time in which any process had a kernel running on the GPU.", kPercent,
     "hw.gpu.utilization", "gausscope_gpu_utilization_ratio"},
    {"memory utilisation [%]", "gausscope_gpu_memory_controller_active_ratio", "ratio",
     "Share of the time in which device memory was read or written.", kPercent, "",
     "gausscope_gpu_memory_utilization_ratio"},
    {"memory used [MiB]", "gausscope_gpu_memory_used_bytes", "bytes", "Device memory in use.", kMiB,
     "hw.gpu.memory.usage"},
    {"SM clock [MHz]", "gausscope_gpu_sm_clock_hertz", "hertz", "Clock of the multiprocessors.",
     kMHz},
    {"memory clock [MHz]", "gausscope_gpu_memory_clock_hertz", "hertz", "Clock of the memory.",
     kMHz},
    {"power [W]", "gausscope_gpu_power_watts", "watts", "Power draw.", 1, "hw.power"},
    {"temperature [C]", "gausscope_gpu_temperature_celsius", "celsius", "Temperature.", 1,
     "hw.temperature"},
    {"throttle reasons", "gausscope_gpu_throttle_reasons", "",
     "What limits the clocks, as NVML's bits; 0: nothing.", 1},
    {"SM active [%]", "gausscope_gpu_sm_active_ratio", "ratio",
     "Share of the multiprocessors that had work.", kPercent},
    {"SM occupancy [%]", "gausscope_gpu_sm_occupancy_ratio", "ratio",
     "Share of the possible warps that were resident.", kPercent},
    {"tensor cores active [%]", "gausscope_gpu_tensor_active_ratio", "ratio",
     "Share of the time in which tensor cores worked.", kPercent},
    {"FP32 active [%]", "gausscope_gpu_fp32_active_ratio", "ratio",
     "Share of the time in which FP32 units worked.", kPercent},
    {"DRAM bandwidth [%]", "gausscope_gpu_dram_bandwidth_ratio", "ratio",
     "Share of the peak memory bandwidth.", kPercent},
}};

}  // namespace

bool GpuMetrics::take(const TraceProcess& process, std::string_view name,
                      const CounterPoint& newest) {
    const auto counter = gpu_counter_name(name);
    const GpuDeviceEvent* const device = counter ? find_device(process, counter->device) : nullptr;
    if (device == nullptr || device->uuid.empty()) return false;
    const auto family = std::ranges::find(kTable, counter->metric, &Family::counter);
    if (family == kTable.end()) return false;
    Gpu& gpu = by_uuid_[device->uuid];
    const bool by_reader = is_node_gpus(process);
    if (gpu.by_reader && !by_reader) return true;
    if (by_reader && !std::exchange(gpu.by_reader, true)) gpu.newest = {};
    gpu.model = device->name;
    gpu.memory_bytes = static_cast<double>(device->memory_bytes);
    CounterPoint& known = gpu.newest[static_cast<std::size_t>(family - kTable.begin())];
    if (newest.time_ns > known.time_ns) known = newest;
    return true;
}

void GpuMetrics::forget_before(std::int64_t time_ns) {
    for (auto& [uuid, gpu] : by_uuid_)
        for (CounterPoint& point : gpu.newest)
            if (point.time_ns < time_ns) point = {};
    std::erase_if(by_uuid_, [](const auto& entry) {
        const auto& newest = entry.second.newest;
        return std::ranges::all_of(newest,
                                   [](const CounterPoint& point) { return point.time_ns == 0; });
    });
}

/// `value` gives a GPU's number; NaN: it has none.
template <class Value>
void GpuMetrics::family(Exposition& out, std::size_t f, const Exposition::Family& about,
                        Value value) const {
    out.family(about);
    for (const auto& [uuid, gpu] : by_uuid_)
        if (const CounterPoint& newest = gpu.newest[f]; newest.time_ns != 0)
            out.value({{"uuid", uuid}, {"model", gpu.model}}, value(gpu, newest.value));
}

void GpuMetrics::write(Exposition& out) const {
    for (std::size_t f = 0; f < kTable.size(); ++f) {
        const Family& of = kTable[f];
        const auto value = [&](const Gpu&, double newest) { return newest * of.scale; };
        family(out, f, {of.name, of.help, of.unit, Exposition::Type::gauge, {}, of.semantic},
               value);
        if (of.old_name != nullptr)
            family(out, f, {of.old_name, fmt::format("Old name of {}.", of.name), of.unit}, value);
    }
    family(out, kMemoryUsed,
           {"gausscope_gpu_memory_used_ratio",
            "Share of the device memory in use.",
            "ratio",
            Exposition::Type::gauge,
            {},
            "hw.gpu.memory.utilization"},
           [](const Gpu& gpu, double used) { return used * kMiB / gpu.memory_bytes; });
    out.family("gausscope_gpu_throttled", Exposition::Type::gauge,
               "1 while this reason limits the clocks, by reason.");
    for (const auto& [uuid, gpu] : by_uuid_)
        for (std::size_t bit = 1; bit < kThrottleReasons.size(); ++bit)
            if (const CounterPoint& newest = gpu.newest[kThrottle]; newest.time_ns != 0)
                out.value(
                    {{"uuid", uuid}, {"model", gpu.model}, {"reason", kThrottleReasons[bit].label}},
                    static_cast<double>(static_cast<std::uint64_t>(newest.value) >> bit & 1));
}

}  // namespace gs::serve
