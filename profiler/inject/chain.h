// Another NVTX tool behind this library: NVTX lets only one in, so the library that
// GAUSSCOPE_CHAIN_NVTX names gets all calls from us. To it the whole process looks like one program
// that uses NVTX: the tables it fills are ours. Used by hooks.cpp and modules.cpp.
#pragma once

#include "profiler/inject/nvtx_abi.h"

namespace gs::inject::chain {

/// Opens the library `path` and lets it fill the tables; false when there is none (stderr says
/// why). Called once.
bool load(const char* path) noexcept;

/// What the other tool wants called for this function; null: nothing, or there is no other tool.
nvtx::Function function(nvtx::Module module, std::uint32_t number) noexcept;

}  // namespace gs::inject::chain
