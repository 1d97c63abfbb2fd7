// The functions that NVTX calls are led to while this library listens, in two kinds: plain ones,
// and chained ones that hand everything on to another tool as well (chain.h). Used by modules.cpp,
// which puts them into the programs' tables.
#pragma once

#include <cstddef>

#include "profiler/inject/nvtx_abi.h"

namespace gs::inject {

struct Hook {
    nvtx::Module module;
    std::uint32_t function;
    /// It records: not needed while disarmed. The others hand out handles and names that will be
    /// needed later.
    bool records;
    nvtx::Function plain;    ///< null: only needed for the other tool
    nvtx::Function chained;  ///< the same, and the other tool's
};

inline constexpr std::size_t kHookCount = 31;
extern const Hook kHooks[kHookCount];

}  // namespace gs::inject
