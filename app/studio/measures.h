// Measures: stores a scene's measurements in a text file beside its saved views, one item per line:
// "metres_per_unit = 0.25", "up = 0 -1 0", "distance = X Y Z X Y Z" (world units). Called by the
// studio when a scene is opened and by the measure.* and scene.* commands.
#pragma once

#include "base/file.h"
#include "panels/state/measure_state.h"

namespace gs {

/// The file of the scene whose saved views are in `views_file`.
fs::path measures_file(const fs::path& views_file);
/// Skips invalid lines; no file means no measurements.
MeasureState read_measures(const fs::path& file);
/// Removes the file if there are no measurements. An unpaired point is not saved.
Result<void> write_measures(const fs::path& file, const MeasureState& measured);

}  // namespace gs
