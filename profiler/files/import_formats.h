// Each format of traces into ImportEvents, one .cpp file each. Called by import_trace. Errors:
// malformed, with the byte where there is one.
#pragma once

#include <string>
#include <string_view>

#include "profiler/files/import_events.h"

namespace gs {

/// Chrome's JSON traces (an array of events, or an object with traceEvents), as torch.profiler,
/// nsys and many others write them. `text`: the part of the file's `bytes` behind marks at its
/// head.
Result<void> import_chrome(std::string_view bytes, std::string_view text, const std::string& path,
                           ImportEvents& out);

/// Perfetto traces (TrackEvent): our own and those of other tracing programs.
Result<void> import_perfetto(std::string_view bytes, const std::string& path, ImportEvents& out);
/// By the first bytes, as are the two below.
bool is_perfetto(std::string_view bytes);

/// XSpace files (.xplane.pb), as jax.profiler and XLA's other front ends write them: the host's
/// threads, and the streams of GPUs.
Result<void> import_xplane(std::string_view bytes, const std::string& path, ImportEvents& out);
bool is_xplane(std::string_view bytes);

/// The SQLite export of Nsight Systems (`nsys export --type sqlite`), of any version: tables and
/// columns that an export lacks count as empty; what is not known here is named in the notes.
/// `bytes` is changed: a file that was cut says afterwards that it is as long as it is.
Result<void> import_nsys(std::string& bytes, const std::string& path, ImportEvents& out);
bool is_sqlite(std::string_view bytes);

}  // namespace gs
