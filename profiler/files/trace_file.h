// Which files are traces: asked by everything that opens files of several kinds (the studio, its
// file list).
#pragma once

#include "base/file.h"

namespace gs {

/// True when the name says so (.pftrace, .perfetto-trace, .xplane.pb, gzipped or not; .json.gz), or
/// for JSON what it begins with.
bool is_trace_file(const fs::path& path);

}  // namespace gs
