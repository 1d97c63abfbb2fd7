// The injection library as a whole: what is started when the first program or driver of a process
// loads it, and what its endpoint's thread does. Called by entry.cpp.
#pragma once

#include "profiler/inject/nvtx_abi.h"

namespace gs::inject {

/// Makes the ring, opens the other NVTX tool where one is named, starts the endpoint; the first
/// time only. Does not wait for another thread that is doing so: it may hold the loader's lock, and
/// so may we. False: nothing can be recorded in this process.
bool start_library() noexcept;

/// One more object of this process uses NVTX. False: leave it as if there were no tool.
bool take_nvtx(nvtx::GetExportTable get_export_table) noexcept;

/// The driver is being initialised by this thread; to be said before start_library().
void expect_cuda() noexcept;
/// The same, after it.
void take_cuda() noexcept;

}  // namespace gs::inject
