// The collectives of a trace, however they came into it: kernels of NCCL, the ranges that
// `record --pytorch` opens, those of torch.profiler and of NCCL itself, with their bytes and
// communicator where known. The table of `gausscope trace` and the clocks of hosts
// (clock_offsets.h) are made of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "profiler/analysis/time_range.h"
#include "profiler/store/store.h"

namespace gs {

struct Collective {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint64_t bytes = 0;         ///< of this rank; 0: unknown
    std::uint64_t communicator = 0;  ///< the same number on all its ranks; 0: unknown
    std::uint32_t name = 0;          ///< of the kernel or range
    std::uint32_t track = kNoTrack;  ///< that it is on
    std::string_view operation{};    ///< "all_reduce"
    bool on_gpu = false;
    bool enqueues =
        false;  ///< a call that does not wait for it: its length is not the collective's
    /// No rank gets out before the last is in, and this is the time until it got out; not so of a
    /// broadcast, or of a call that only enqueues.
    bool together = false;
};

/// A call of this name, or of any in this domain, does not wait for what it begins.
bool only_enqueues(std::string_view name, std::string_view domain);

/// By process, in order of their ends. Where a process has kernels of collectives, the calls that
/// launched them are left out. `only`: of the other processes none. `within`: those that overlap
/// it. O(spans in it).
std::vector<std::vector<Collective>> collectives(const TraceStore& store,
                                                 std::uint32_t only = kAnyProcess,
                                                 TimeRange within = kAllTime);

}  // namespace gs
