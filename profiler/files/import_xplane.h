// XSpace files (.xplane.pb), as jax.profiler and XLA's other front ends write them, into
// ImportEvents: the host's threads, and the streams of GPUs. Called by import_trace.
#pragma once

#include <string_view>

#include "profiler/files/import_events.h"

namespace gs {

/// Whether these bytes begin like an XSpace.
bool is_xplane(std::string_view bytes);
/// Errors: malformed, with the byte.
Result<void> import_xplane(std::string_view bytes, const std::string& path, ImportEvents& out);

}  // namespace gs
