// Chrome's JSON traces (an array of events, or an object with traceEvents), as torch.profiler, nsys
// and many others write them, into ImportEvents. Called by import_trace.
#pragma once

#include <string_view>

#include "profiler/files/import_events.h"

namespace gs {

/// Errors: malformed, with the byte.
Result<void> import_chrome(std::string_view bytes, const std::string& path, ImportEvents& out);

}  // namespace gs
