// Sampled call stacks, summed over time: what every export of them is made of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/analysis/stack_profile.h"

namespace gs {

/// What samples have in common that differ only in time.
struct StackPlace {
    std::uint32_t process = 0, tid = 0, stack = 0;
    std::vector<std::uint32_t> ranges;
    bool operator<(const StackPlace& o) const {
        return std::tie(process, tid, stack, ranges) <
               std::tie(o.process, o.tid, o.stack, o.ranges);
    }
};
struct StackSum {
    std::int64_t samples = 0, cpu_ns = 0, blocked_ns = 0;
};
using StackSums = std::map<StackPlace, StackSum>;

StackSums stack_sums(const TraceStore& store, TimeRange range = kAllTime);
/// "outer / inner"; empty: no range was open.
std::string ranges_text(const TraceStore& store, const StackPlace& place);

}  // namespace gs
