// GPUs as NVML reports them, in a trace: the process that stands for those of a node, and what
// their counters are called. Written by service::DeviceSampler (and by injection libraries of
// before, each of which reported its process's GPUs); read by the metrics and the insights.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/store/sources.h"

namespace gs {

/// The name of the process that bears the counters of a node's GPUs: the program that asked for
/// them. Its devices bear NVML's numbers, as the counters do, which need not be CUDA's: uuids tell
/// which is which.
inline constexpr std::string_view kNodeGpus = "GPUs of the node";
/// Its source in a live trace, beside those of Connection::source(), which count from 1.
inline constexpr std::uint64_t kNodeGpusSource = 0xffff'ffff;
/// By the source, since whoever writes a ring may call itself as it likes; in a file
/// (TraceBatch::source) by the name.
inline bool is_node_gpus(const ProcessFacts& process) {
    return process.source >> 32 == 0 ? process.source == kNodeGpusSource
                                     : process.name == kNodeGpus;
}
/// Of those of a store the ones that were recorded, in order: what a user chooses among.
std::vector<std::uint32_t> recorded_processes(std::span<const TraceProcess> processes);
/// The recorded one with that number that came last, before those that have ended: after exec()
/// there are two. None: there is no such process.
std::optional<std::uint32_t> process_of_pid(std::span<const TraceProcess> processes,
                                            std::uint32_t pid);

/// "GPU 3 power [W]": of GPU 3, "power [W]".
struct GpuCounterName {
    std::uint32_t device = 0;
    std::string_view metric;
};
std::optional<GpuCounterName> gpu_counter_name(std::string_view name);

/// What lowers a GPU's clocks: bit i of its counter "throttle reasons" (NVML's numbers), as a label
/// of a metric and in words.
struct ThrottleReason {
    const char *label, *words;
};
inline constexpr std::array<ThrottleReason, 9> kThrottleReasons{{
    {"idle", "idle"},
    {"user_clocks", "clocks set by the user"},
    {"power_cap", "power cap"},
    {"hardware_slowdown", "hardware slowdown"},
    {"sync_boost", "sync boost"},
    {"thermal_software", "too hot (software)"},
    {"thermal_hardware", "too hot (hardware)"},
    {"power_brake", "power brake"},
    {"display_clocks", "display clocks"},
}};
/// "power cap, too hot (software)"; empty: none of them.
std::string throttle_words(std::uint64_t bits);

/// Of the process that reports a counter; null: it does not say what GPU that is.
const GpuDeviceEvent* find_device(const ProcessFacts& process, std::uint32_t device);

}  // namespace gs
