// What counters of a trace say about the GPUs of a process, whoever recorded them: NVML's samples
// of the node (profiler/collect/nvml_gpu.cpp has the names), which older traces have in the process
// itself, and the names of Perfetto's GPU compute schema. For the rules that need counters.
#pragma once

#include "profiler/insights/subject.h"

namespace gs::insights {

enum class GpuCounter {
    memory,      ///< bandwidth of device memory, of its peak
    throughput,  ///< of the multiprocessors' most used unit, of its peak
    tensor,      ///< time in which tensor cores worked
    occupancy,   ///< warps, of those that fit
    clock_mhz,   ///< of the multiprocessors
    throttle,    ///< reasons for lower clocks, 0: none
};

/// Mean of the samples within the iterations' time, shares as 0..1; NaN: not recorded.
double counter_mean(const Subject& subject, GpuCounter counter);
/// Samples within the iterations' time, of the first GPU that has them; empty: not recorded.
std::vector<CounterPoint> counter_points(const Subject& subject, GpuCounter counter);
/// Why there are no counters, where the recorder said so ("GPU 0 counters (GPM): not permitted"),
/// else empty.
std::string why_no_counters(const Subject& subject);

}  // namespace gs::insights
