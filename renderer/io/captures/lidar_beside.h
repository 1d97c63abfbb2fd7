// Recordings of a lidar that belong to a capture: its own, where it is a drive, and others beside
// it.
#pragma once

#include "base/expected.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/scene/capture.h"

namespace gs {

/// Sets Capture::lidars of a capture that has its cameras and points. Errors, of those that are
/// asked for: of open_lidar_log() and of reading its middle sweep; usage: it has no poses, or
/// hardly a return of that sweep is near the cameras and points.
Result<void> join_lidars(const CaptureOptions& options, Capture& capture);

}  // namespace gs
