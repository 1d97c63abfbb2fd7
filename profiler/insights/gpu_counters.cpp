#include "profiler/insights/gpu_counters.h"

#include <limits>

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

}  // namespace

std::vector<CounterPoint> counter_points(const Subject& s, GpuCounter counter) {
    std::vector<CounterPoint> out;
    for (const CounterSeries& series : s.store.counters()) {
        if (series.process != s.process) continue;
        const std::string_view name = s.store.name(series.name);
        const auto names = names_of(counter);
        if (std::none_of(names.begin(), names.end(),
                         [&](const char* n) { return name.find(n) != name.npos; }))
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
        if (instant.track >= s.store.tracks().size() ||
            s.store.tracks()[instant.track].process != s.process)
            continue;
        const std::string_view text = s.store.name(instant.name);
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
