// The CPU's memory and task ceilings: STREAM's copy and triad on arrays larger than the caches, and
// the floor of a parallel loop. Called by measure_cpu_ceilings() of raster/ceilings.h, which adds
// the arithmetic.
#pragma once

#include "base/ceilings.h"

namespace gs {

/// Sets copy_bytes, triad_bytes, launch_seconds and launch_interval_seconds; the best of several
/// rounds, all threads.
void measure_memory_and_tasks(Ceilings& out);

}  // namespace gs
