#include "profiler/insights/gpu_counters.h"

#include <limits>

#include "profiler/store/node_gpus.h"

namespace gs::insights {
namespace {

/// What the names of a counter contain.
std::array<const char*, 2> names_of(GpuCounter counter) {
    switch (counter) {
        case GpuCounter::memory:
            return {"DRAM bandwidth [%]", "gpu__dram_throughput"};
        case GpuCounter::throughput:
            return {"FP32 active [%]", "sm__throughput"};
        case GpuCounter::tensor:
            return {"tensor cores active [%]", "sm__pipe_tensor"};
        case GpuCounter::occupancy:
            return {"SM occupancy [%]", "sm__warps_active"};
        case GpuCounter::clock_mhz:
            return {"SM clock [MHz]", "SM clock [MHz]"};
        case GpuCounter::throttle:
            return {"throttle reasons", "throttle reasons"};
    }
    return {};
}

bool is_share(GpuCounter counter) {
    return counter != GpuCounter::clock_mhz && counter != GpuCounter::throttle;
}

/// Where GPU work of the process was recorded, those GPUs; else all that CUDA showed it.
bool uses(const Subject& s, std::string_view uuid) {
    const auto& devices = s.traced().devices;
    return std::ranges::any_of(devices, [&](const GpuDeviceEvent& d) {
        return d.uuid == uuid &&
               (s.works.empty() || std::ranges::any_of(s.works, [&](const Work& w) {
                    return s.store.tracks()[w.track].device == d.device;
                }));
    });
}

/// Of the process itself, or of the node and one of the GPUs that the process uses.
bool concerns(const Subject& s, std::uint32_t teller, std::string_view name) {
    if (teller == s.process) return true;
    const TraceProcess& of = s.store.processes()[teller];
    const auto counter = is_node_gpus(of) ? gpu_counter_name(name) : std::nullopt;
    const GpuDeviceEvent* const device = counter ? find_device(of, counter->device) : nullptr;
    return device != nullptr && uses(s, device->uuid);
}

}  // namespace

std::vector<CounterPoint> counter_points(const Subject& s, GpuCounter counter) {
    std::vector<CounterPoint> out;
    for (const CounterSeries& series : s.store.counters()) {
        const std::string_view name = s.store.name(series.name);
        const auto names = names_of(counter);
        if (std::ranges::none_of(names, [&](const char* n) { return name.find(n) != name.npos; }) ||
            !concerns(s, series.process, name))
            continue;
        for (const CounterPoint& p : series.points.view())
            if (s.inside(p.time_ns)) out.push_back(p);
        if (!out.empty()) break;
    }
    return out;
}

double counter_mean(const Subject& s, GpuCounter counter) {
    const std::vector<CounterPoint> points = counter_points(s, counter);
    if (points.empty()) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (const CounterPoint& p : points) sum += p.value;
    return sum / static_cast<double>(points.size()) * (is_share(counter) ? 0.01 : 1.0);
}

std::string why_no_counters(const Subject& s) {
    for (const TraceInstant& instant : s.store.instants()) {
        if (instant.track >= s.store.tracks().size()) continue;
        const std::uint32_t teller = s.store.tracks()[instant.track].process;
        const std::string_view text = s.store.name(instant.name);
        const bool of_node = is_node_gpus(s.store.processes()[teller]) && !gpu_counter_name(text);
        if (!of_node && !concerns(s, teller, text)) continue;
        const bool of_nvml =
            text.starts_with("NVML: ") || text.find("counters (GPM): ") != text.npos;
        if (!of_nvml) continue;
        std::string out(text);
        if (text.find("not permitted") != text.npos)
            out +=
                "; to permit it: run as root, or load the driver with "
                "NVreg_RestrictProfilingToAdminUsers=0";
        return out;
    }
    return {};
}

}  // namespace gs::insights
