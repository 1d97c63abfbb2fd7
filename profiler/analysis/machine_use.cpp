#include "profiler/analysis/machine_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/machine_use.h"
#include "base/record/machine_counters.h"

namespace gs {
namespace {

/// A point covers the second before it, so the one after the stretch also counts.
constexpr std::int64_t kAfter = 1'000'000'000;

double mean_of(const CounterSeries& series, std::int64_t begin, std::int64_t end) {
    double sum = 0, count = 0;
    const auto points = series.points.view();
    for (auto p = std::ranges::upper_bound(points, begin, {}, &CounterPoint::time_ns);
         p != points.end() && p->time_ns <= end + kAfter; ++p)
        sum += p->value, ++count;
    return count > 0 ? sum / count : MachineUse::kNotTold;
}

}  // namespace

MachineUse machine_use(const TraceStore& store, std::uint32_t process, std::int64_t begin,
                       std::int64_t end, std::uint32_t track) {
    MachineUse out;
    double main = MachineUse::kNotTold, most = MachineUse::kNotTold;
    struct Figure {
        const char* name;
        double& value;
        double unit;
    };
    const Figure figures[] = {{machine_counter::kWaited, out.waited, 0.01},
                              {machine_counter::kMainWaited, main, 0.01},
                              {machine_counter::kMostWaited, most, 0.01},
                              {machine_counter::kSwitches, out.switches, 1},
                              {machine_counter::kCpusUsed, out.cpus_used, 1},
                              {machine_counter::kCpus, out.cpus, 1},
                              {machine_counter::kLoad, out.load, 1},
                              {machine_counter::kClock, out.clock_ghz, 1},
                              {machine_counter::kThreads, out.threads, 1},
                              {machine_counter::kInLoops, out.in_loops, 0.01},
                              {machine_counter::kWorkersBusy, out.workers_busy, 0.01},
                              {machine_counter::kVectorBits, out.vector_bits, 1},
                              {machine_counter::kVectorBitsHere, out.vector_bits_here, 1}};
    for (const CounterSeries& series : store.counters())
        for (const Figure& figure : figures)
            if (series.process == process && store.name(series.name) == figure.name)
                figure.value = figure.unit * mean_of(series, begin, end);
    // Parallel loops end with their slowest thread.
    const bool alone = !std::isfinite(out.in_loops) && track < store.tracks().size() &&
                       store.tracks()[track].tid == store.processes()[process].pid;
    out.held = std::isfinite(main) && alone ? main : std::isfinite(most) ? most : out.waited;
    return out;
}

std::string machine_text(const MachineUse& use) {
    if (!std::isfinite(use.held)) return {};
    std::string out = fmt::format("threads waited {:.0f} % of the time for a CPU", 100 * use.held);
    if (std::isfinite(use.switches))
        out += fmt::format(", preempted {:.0f} times a second", use.switches);
    if (std::isfinite(use.load)) out += fmt::format("; load {:.1f}", use.load);
    if (std::isfinite(use.load) && std::isfinite(use.cpus))
        out += fmt::format(" on {:.0f} CPU{}", use.cpus, use.cpus == 1 ? "" : "s");
    if (std::isfinite(use.clock_ghz)) out += fmt::format(", {:.2f} GHz", use.clock_ghz);
    return out;
}

nlohmann::ordered_json machine_json(const MachineUse& use) {
    const auto told = [](double v) {
        return std::isfinite(v) ? nlohmann::ordered_json(v) : nlohmann::ordered_json();
    };
    return {{"threads_waited", told(use.waited)},
            {"waited_of_all_time", told(use.held)},
            {"involuntary_switches_per_second", told(use.switches)},
            {"cpus_used", told(use.cpus_used)},
            {"cpus", told(use.cpus)},
            {"load_average", told(use.load)},
            {"cpu_clock_ghz", told(use.clock_ghz)}};
}

}  // namespace gs
