// SOG where it is a part of something: a folder or bundle of files, and the sets of levels that
// consist of several.
#pragma once

#include "renderer/io/files/file_set.h"
#include "renderer/io/splats/splat_io.h"

namespace gs {

/// The SOG whose description is `meta_name` in `files`; images are looked up beside it.
Result<SplatFile> read_sog_files(const FileSet& files, const std::string& meta_name,
                                 const SplatReadOptions& options);

}  // namespace gs
