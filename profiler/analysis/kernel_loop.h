// Which kernel marks the iterations of a process that records GPU work and no ranges of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/analysis/intervals.h"
#include "profiler/store/store.h"

namespace gs {

/// The rarest kernel that recurs regularly among the work that began after `from_ns`; empty: none.
std::string kernel_of_loop(const TraceStore& store, std::uint32_t process, std::int64_t from_ns);
/// When kernels of this name began, from `from_ns` to `until_ns`, ascending.
std::vector<std::int64_t> begins_of(const TraceStore& store, std::uint32_t process,
                                    std::string_view kernel, std::int64_t from_ns,
                                    std::int64_t until_ns);

}  // namespace gs
