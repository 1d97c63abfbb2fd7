// The TraceStore as text other programs read: folded stacks (flame graphs), speedscope, Chrome
// JSON. Written whole or not at all. Called by `gausscope trace FILE --export OUT`.
#pragma once

#include "base/file.h"
#include "profiler/store/store.h"

namespace gs {

/// The event of our Chrome JSON that says which thread a made-up one is a part of.
inline constexpr const char* kBesideEvent = "ranges_that_overlap";

/// "engine;iteration;blend 1234" a line: a stack and the microseconds spent in it alone. Spans that
/// overlap others without lying inside are stacks of their own, whole; returns how many those are.
/// Errors: unwritable.
Result<std::uint64_t> export_folded(const TraceStore& store, const fs::path& path);
/// A profile per thread and stream, as speedscope.app opens it; more for spans that overlap.
Result<void> export_speedscope(const TraceStore& store, const fs::path& path);
/// Threads, streams, spans with payloads, launches, counters and instants, as chrome://tracing and
/// Perfetto open it. Spans that overlap are in threads of their own, which the import puts back.
Result<void> export_chrome(const TraceStore& store, const fs::path& path);

}  // namespace gs
