// Traces of several ranks as one: their times by the wall clocks, and where ranks of different
// hosts carried out collectives together, by those (analysis/clock_offsets.h). Called by `gausscope
// trace`.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "profiler/files/import.h"

namespace gs {

/// Reads all files into a store that `empty` makes. Files of one host (their label) share its
/// clock; the first file's host keeps its times, the others' are set right where their clocks
/// differ by more than could be chance. The summary is of all; its notes say how the clocks were
/// found, and name the file where they are one's. Errors: as import_trace().
Result<ImportSummary> import_ranks(std::span<const std::string> files,
                                   const std::function<TraceStore()>& empty, TraceStore& store);

}  // namespace gs
