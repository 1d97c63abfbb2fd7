// Which views are held out of training. Called by load_capture after the frames are sorted by name.
#pragma once

#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/capture_source.h"

namespace gs {

/// Sets Frame::test. Named views win, then the capture's own test file, then every n-th frame
/// starting with the first (none of a single frame). Names match with or without folder and
/// extension. Errors: usage, for a name that matches no frame.
Result<void> assign_test_views(CaptureSource& source, const CaptureOptions& options);

}  // namespace gs
