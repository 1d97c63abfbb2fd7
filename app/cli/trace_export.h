// The trace formats that are written, told by how a file's name ends. Used by `trace`, `record` and
// `attach`.
#pragma once

#include "base/expected.h"
#include "base/file.h"
#include "profiler/store/store.h"

namespace gs::cli {

/// Error of kind usage when no format has this ending; to be asked before a long recording.
Result<void> check_trace_format(const fs::path& path);
/// Errors: usage (no such format), unwritable.
Result<void> export_trace(const TraceStore& store, const fs::path& path);

}  // namespace gs::cli
