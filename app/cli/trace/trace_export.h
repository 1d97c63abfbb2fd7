// Writes trace formats, chosen by the file's extension. Used by `trace`, `record` and `attach`.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "profiler/store/store.h"

namespace gs::cli {

/// Error of kind usage when no format has this ending; to be asked before a long recording.
Result<void> check_trace_format(const fs::path& path);
/// Data missing in the file that a trace format should have, and notes for readers.
struct ExportNotes {
    std::vector<std::string> lost, notes;
};
/// Errors: usage (no such format), unwritable.
Result<ExportNotes> export_trace(const TraceStore& store, const fs::path& path);

}  // namespace gs::cli
