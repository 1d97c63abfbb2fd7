#include "profiler/store/node_gpus.h"

#include <algorithm>
#include <charconv>

namespace gs {

std::vector<std::uint32_t> recorded_processes(std::span<const TraceProcess> processes) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t p = 0; p < processes.size(); ++p)
        if (!is_node_gpus(processes[p])) out.push_back(p);
    return out;
}

std::optional<std::uint32_t> process_of_pid(std::span<const TraceProcess> processes,
                                            std::uint32_t pid) {
    std::optional<std::uint32_t> found;
    for (const std::uint32_t p : recorded_processes(processes)) {
        if (processes[p].pid != pid) continue;
        if (!found || !processes[p].ended || processes[*found].ended) found = p;
    }
    return found;
}

std::optional<GpuCounterName> gpu_counter_name(std::string_view name) {
    constexpr std::string_view kGpu = "GPU ";
    if (!name.starts_with(kGpu)) return std::nullopt;
    const char* const end = name.data() + name.size();
    GpuCounterName out;
    const auto [rest, error] = std::from_chars(name.data() + kGpu.size(), end, out.device);
    if (error != std::errc() || rest == end || *rest != ' ') return std::nullopt;
    out.metric = name.substr(static_cast<std::size_t>(rest + 1 - name.data()));
    return out;
}

std::string throttle_words(std::uint64_t bits) {
    std::string out;
    for (std::size_t bit = 0; bit < kThrottleReasons.size(); ++bit)
        if ((bits >> bit & 1) != 0)
            out += (out.empty() ? "" : ", ") + std::string(kThrottleReasons[bit].words);
    return out;
}

const GpuDeviceEvent* find_device(const ProcessFacts& process, std::uint32_t device) {
    const auto found = std::ranges::find(process.devices, device, &GpuDeviceEvent::device);
    return found != process.devices.end() ? &*found : nullptr;
}

}  // namespace gs
