// The time lapse of a run without pictures of its own: each step whose splats are kept (another
// trainer's results, or --save-at) is drawn from a photo's camera. For `render --time-lapse`.
#pragma once

#include <string>

#include "app/cli/options.h"
#include "trainer/run/lapse_video.h"

namespace gs::cli {

/// `camera`: a photo's name, empty: the first test photo. `capture`: empty: the run's own. Errors:
/// usage (no step is kept, no such camera, the capture has moved), as reading, drawing and writing.
Result<LapseVideo> film_steps(const std::string& run, const std::string& camera,
                              const std::string& capture, const PictureArguments& picture,
                              const CommonArguments& common, const fs::path& file,
                              VideoOptions options, const Progress& progress);

}  // namespace gs::cli
