// The cameras of a capture, or of a run with the poses that it corrected. For `poses` and
// `convert --layout`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "renderer/scene/capture.h"
#include "trainer/run/run_folder.h"

namespace gs::cli {

struct ExportedCameras {
    Capture capture;              ///< without photos
    std::vector<Camera> cameras;  ///< by view, less the capture's origin
    std::size_t corrected = 0;    ///< of them, from the run's poses.json
    std::optional<RunDescription> run;
};
/// `input`: a run's folder or a capture; `lenses`: of a capture those of the photos as they are,
/// not of resampled ones. Errors: as load_capture(); malformed (poses.json).
Result<ExportedCameras> exported_cameras(const std::string& input, bool lenses);

}  // namespace gs::cli
