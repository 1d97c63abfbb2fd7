// Chrome's JSON traces (an array of events, or an object with traceEvents), as torch.profiler, nsys
// and many others write them, into ImportEvents. Called by import_trace.
#pragma once

#include <string_view>

#include "profiler/files/import_events.h"

namespace gs {

/// `text`: the part of the file's `bytes` behind marks at its head. Errors: malformed, with the
/// byte: there is not one whole event in it.
Result<void> import_chrome(std::string_view bytes, std::string_view text, const std::string& path,
                           ImportEvents& out);

}  // namespace gs
