// A captured step as one file (.gsstep): a zip archive of a manifest in JSON and arrays of numbers
// (step_pack.h), so that it can be attached to a report and run again elsewhere. Nothing is lost in
// it. Files may come from anywhere: every count is checked before it is believed.
#pragma once

#include "base/file.h"
#include "trainer/replay/step_capture.h"

namespace gs {

inline constexpr const char* kStepExtension = ".gsstep";

Result<void> write_step(const CapturedStep& step, const fs::path& path);
/// Errors: not_found, unreadable, malformed (with the entry), unsupported (of another version).
Result<CapturedStep> read_step(const fs::path& path);
/// It is a captured step, by its content; it may be damaged.
bool is_step_file(const fs::path& path);
/// "step-001200.gsstep".
fs::path step_file_name(std::uint64_t step);

}  // namespace gs
