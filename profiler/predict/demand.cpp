#include "profiler/predict/demand.h"

#include <algorithm>
#include <cmath>

namespace gs {
namespace {

constexpr double kOverlap = 4;      ///< p of the throughputs: docs/model.md, "Together"
constexpr double kWaitOverlap = 2;  ///< of throughput and waits: equal ones make 1.41 of each
/// From the end of one kernel to the end of the next that has nothing to do: 2.2 us in the kernel,
/// 1.1 between them (H100, 2026-11-23).
constexpr double kLaunchSeconds = 3.3e-6;
constexpr double kWarpLanes = 32;

double& at(ResourceSeconds& seconds, GpuResource r) { return seconds[static_cast<std::size_t>(r)]; }
double at(const ResourceSeconds& seconds, GpuResource r) {
    return seconds[static_cast<std::size_t>(r)];
}

/// Of `working_set` bytes that are read again, the share that has left an L2 cache of `l2` bytes: a
/// tenth of a set of half its size, two thirds of one of its size, all but 3 % of one of twice
/// that.
double missed(double working_set, double l2) {
    if (!(working_set > 0)) return 1;
    const double x = l2 / (1.2 * working_set);
    return 1 / (1 + x * x * x * x);
}

double p_norm(double a, double b, double p) {
    return std::pow(std::pow(a, p) + std::pow(b, p), 1 / p);
}

}  // namespace

const char* name_of(GpuResource resource) {
    static constexpr const char* kNames[] = {"instruction issue",
                                             "fp32",
                                             "integer",
                                             "special functions",
                                             "shared memory",
                                             "L2 cache",
                                             "memory",
                                             "latency",
                                             "tail",
                                             "launches"};
    static_assert(std::size(kNames) == kGpuResources);
    return kNames[static_cast<std::size_t>(resource)];
}

ResourceSeconds resource_seconds(const StageDemand& d, const GpuDevice& gpu, const ModelFit& fit) {
    const GpuArchitecture& a = gpu.architecture;
    const double clocks = gpu.multiprocessors * gpu.clock_ghz * 1e9;  // of all of them, a second
    const CodeCost& x = d.executed;
    ResourceSeconds out{};
    at(out, GpuResource::issue) = x.issue / (clocks * a.issue * fit.issue_use);
    at(out, GpuResource::fp32) = x.fp32 * kWarpLanes / (clocks * a.fp32);
    at(out, GpuResource::integer) = x.integer * kWarpLanes / (clocks * a.integer);
    at(out, GpuResource::special) = x.special * kWarpLanes / (clocks * a.special);
    // A warp's access to shared memory, and a shuffle, take one turn of 128 bytes at least.
    at(out, GpuResource::shared_memory) =
        (x.shared_load + x.shared_store + x.shuffle) * 128 / (clocks * a.shared_bytes);
    const double l2 = gpu.l2_mb * 1e6, miss = missed(d.working_set, l2),
                 again = missed(d.again_set, l2);
    at(out, GpuResource::l2) = (d.bytes + d.again_bytes) / (clocks * a.l2_bytes);
    at(out, GpuResource::memory) =
        (d.bytes * miss + d.again_bytes * again) / (gpu.sustained_gb_s * 1e9 * fit.bandwidth_use);
    const auto wait = [&](double share) {
        return gpu.l2_latency + share * (gpu.memory_latency - gpu.l2_latency);
    };
    at(out, GpuResource::latency) =
        (d.wait_rounds * wait(miss) + d.again_rounds * wait(again) + d.wait_clocks) /
        (gpu.clock_ghz * 1e9);
    at(out, GpuResource::launch) = d.launches * kLaunchSeconds;
    double slowest = 0;
    for (const GpuResource r :
         {GpuResource::issue, GpuResource::fp32, GpuResource::integer, GpuResource::special,
          GpuResource::shared_memory, GpuResource::l2, GpuResource::memory})
        slowest = std::max(slowest, at(out, r));
    at(out, GpuResource::tail) = slowest * (d.imbalance - 1);
    return out;
}

double seconds_of(const ResourceSeconds& resources, const ModelDraw& draw) {
    double sum = 0;
    for (const GpuResource r : {GpuResource::issue, GpuResource::fp32, GpuResource::integer,
                                GpuResource::special, GpuResource::shared_memory})
        sum += std::pow(at(resources, r) * draw.instructions, kOverlap);
    for (const GpuResource r : {GpuResource::l2, GpuResource::memory})
        sum += std::pow(at(resources, r) * draw.memory, kOverlap);
    const double throughput =
        std::pow(sum, 1 / kOverlap) + at(resources, GpuResource::tail) * draw.instructions;
    return p_norm(throughput, at(resources, GpuResource::latency) * draw.latency, kWaitOverlap) +
           at(resources, GpuResource::launch) * draw.latency;
}

int resident_blocks(const GpuArchitecture& a, int threads, int registers, int shared_bytes) {
    constexpr int kWarp = 32, kRegisterUnit = 256, kSharedUnit = 128;
    const int of_the_system = a.name == "75" ? 0 : 1024;  // from 8.0 on, a block
    const int warps = std::max(1, (threads + kWarp - 1) / kWarp);
    int most = std::min(a.blocks, a.warps / warps);
    if (registers > 0) {
        const int of_a_warp =
            (registers * kWarp + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
        // Registers are given out by the four schedulers, each a quarter.
        const int warps_that_fit = a.registers / 4 / of_a_warp * 4;
        most = std::min(most, warps_that_fit / warps);
    }
    if (shared_bytes > 0) {
        const int taken =
            (shared_bytes + kSharedUnit - 1) / kSharedUnit * kSharedUnit + of_the_system;
        most = std::min(most, a.shared_memory / taken);
    }
    return std::max(1, most);
}

}  // namespace gs
