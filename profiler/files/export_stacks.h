// Sampled call stacks as other programs read them: folded lines (flame graphs) and pprof's
// profile.proto. Written whole or not at all. Called by `gausscope trace FILE --export OUT`.
#pragma once

#include "base/file.h"
#include "profiler/analysis/time_range.h"
#include "profiler/store/store.h"

namespace gs {

/// "python (1234);engine;step;forward;matmul 1234" a line: process, thread, the ranges around, the
/// functions, and the microseconds sampled in that alone. What waited ends in "blocked in ...".
/// Errors: unwritable; unsupported, there are no samples.
Result<void> export_folded_stacks(const TraceStore& store, const fs::path& path);
/// The same as a file's content, of the samples in `range`; empty: there are none.
std::string pprof(const TraceStore& store, TimeRange range);
/// Samples, time on a CPU and time blocked, with labels of process, thread and range; gzipped.
/// Errors: as above.
Result<void> export_pprof(const TraceStore& store, const fs::path& path);

}  // namespace gs
