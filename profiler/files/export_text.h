// The TraceStore as text other programs read: folded stacks (flame graphs), speedscope, Chrome
// JSON. Written whole or not at all. Called by `gausscope trace FILE --export OUT`.
#pragma once

#include "base/file.h"
#include "profiler/store/store.h"

namespace gs {

/// "engine;iteration;blend 1234" a line: a stack and the microseconds spent in it alone. Errors:
/// unwritable.
Result<void> export_folded(const TraceStore& store, const fs::path& path);
/// A profile per thread and stream, as speedscope.app opens it.
Result<void> export_speedscope(const TraceStore& store, const fs::path& path);
/// Threads, streams, spans with payloads, launches, counters and instants, as chrome://tracing and
/// Perfetto open it.
Result<void> export_chrome(const TraceStore& store, const fs::path& path);

}  // namespace gs
