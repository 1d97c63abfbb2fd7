// A scene to a file of any format that can be written, sets of levels included: those are made
// here, by merging (renderer/edit/merge.h). Called by convert and by the studio's export.
#pragma once

#include "renderer/io/splats/level_set.h"

namespace gs {

/// Measures a set's levels by pictures that the CPU draws.
MeasureLevels rendered_errors();
/// True for a path of a set of levels, whose folder may have to be made first.
bool is_level_set(const fs::path& path);
/// write_splats(); a lod-meta.json gets the scene at several levels. Errors: of both.
Result<SplatNotes> write_scene(const fs::path& path, const GaussianModel& model,
                               const SplatWriteOptions& options);

}  // namespace gs
