// Writes a loaded capture as transforms_train.json with sparse points and optional photos: pinhole
// cameras of exactly the photos' sizes. For bundles.
#pragma once

#include "base/file.h"
#include "base/progress.h"
#include "renderer/scene/capture.h"

namespace gs {

/// Creates `folder`; held-out photos go into transforms_test.json. Masks are skipped.
/// Errors: unwritable, cancelled.
Result<void> write_capture(const fs::path& folder, const Capture& capture, bool photos,
                           const Progress& progress);

}  // namespace gs
