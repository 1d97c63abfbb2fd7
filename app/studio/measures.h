// Measures: stores a scene's measurements in a text file beside its saved views, one item per line:
// "metres_per_unit = 0.25", "up = 0 -1 0", "distance = X Y Z X Y Z" (world units). Called by the
// studio when a scene is opened and by the measure.* and scene.* commands.
#pragma once

#include "base/file.h"
#include "panels/state/measure_state.h"

namespace gs {

/// The file of the scene whose saved views are in `views_file`.
fs::path measures_file(const fs::path& views_file);
/// Lines that are none are passed over; no file is nothing measured.
MeasureState read_measures(const fs::path& file);
/// Where nothing was measured the file is removed. A point that waits for another is not kept.
Result<void> write_measures(const fs::path& file, const MeasureState& measured);

}  // namespace gs
