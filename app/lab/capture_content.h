// Hashes the content of a capture's files: photos, masks, points and poses under the same path are
// another capture once any of them changes. Called by the runner before it looks up recorded runs.
#pragma once

#include <string>
#include <vector>

#include "app/lab/lab_file.h"
#include "base/expected.h"
#include "base/file.h"

namespace gs::lab {

/// 16 hex digits of the names and bytes of all files below these folders, in their order; the same
/// wherever the folders are. Hidden files and folders of runs (with run.json) do not count. Hashes
/// are kept in `file` by path, size and time, so unchanged files are read once. Errors: the
/// database cannot be read or written.
Result<std::string> content_of(const std::vector<fs::path>& folders, const LabFile& file);

/// 8 hex digits of a file's bytes. Errors: not_found, unreadable.
Result<std::string> content_of_file(const fs::path& file);

}  // namespace gs::lab
