// The programs and shared objects of this process that use NVTX: each has its own pointers, and
// this library changes them. While armed they lead to our hooks; while disarmed those that record
// are null, which costs half a nanosecond a range. Objects that were unloaded are recognised and
// left alone. Called by library.cpp.
#pragma once

#include "profiler/inject/nvtx_abi.h"

namespace gs::inject {

/// Takes the tables of one more object, from within its first NVTX call. False: they are not what
/// NVTX 3 has.
bool attach_module(nvtx::GetExportTable get_export_table) noexcept;

/// Leads all attached objects to the hooks, or away from them. `chained`: the other tool gets
/// everything, so nothing is ever led away.
void point_modules(bool armed, bool chained) noexcept;
/// The same, armed or not as before.
void chain_modules(bool chained) noexcept;

/// Once a tick, while armed: looks again at objects that came a moment ago. Their own
/// initialisation continues after attach_module(), and may take a pointer that was set meanwhile
/// for its own.
void settle_modules() noexcept;

/// Around a fork, in the parent: the child must not be born while we are in the loader's list,
/// whose lock it would inherit.
void hold_modules() noexcept;
void let_go_of_modules() noexcept;
/// In the child of a fork: no other thread is left that could hold a lock, and nothing is armed.
void forget_modules() noexcept;

}  // namespace gs::inject
