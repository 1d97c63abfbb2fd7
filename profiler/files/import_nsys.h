// Reads the SQLite export of Nsight Systems (`nsys export --type sqlite`), of any version: tables
// and columns that an export lacks count as empty. What no reader here knows is named in the notes.
// Used by import.cpp.
#pragma once

#include <string>
#include <string_view>

#include "profiler/files/import_events.h"

namespace gs {

/// By the first bytes of the file.
bool is_sqlite(std::string_view bytes);
/// `bytes` is changed: a file that was cut says afterwards that it is as long as it is. Errors:
/// malformed: no database, or one without tables of Nsight Systems.
Result<void> import_nsys(std::string& bytes, const std::string& path, ImportEvents& out);

}  // namespace gs
