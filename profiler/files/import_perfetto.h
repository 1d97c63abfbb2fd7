// Perfetto traces (TrackEvent) into ImportEvents: our own and those of other tracing programs.
// Called by import_trace.
#pragma once

#include <string_view>

#include "profiler/files/import_events.h"

namespace gs {

/// Whether these bytes begin like a Perfetto trace.
bool is_perfetto(std::string_view bytes);
/// Errors: malformed, with the byte.
Result<void> import_perfetto(std::string_view bytes, const std::string& path, ImportEvents& out);

}  // namespace gs
