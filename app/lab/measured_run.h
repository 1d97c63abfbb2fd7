// Reads the results of a finished training from its folder. Called by the runner.
#pragma once

#include "app/lab/lab_file.h"

namespace gs::lab {

/// Fills values and photos from metrics.json and metrics.csv of `folder`. `whole`: only of a run
/// that went through at once, from its first step to its last; times of another say nothing.
/// Errors: not_found, malformed; unsupported: it is not whole.
Result<void> take_measured(const fs::path& folder, bool whole, LabRun& into);
/// Photos from the JSON line of `gausscope eval --json`. Errors: malformed.
Result<void> take_eval(const std::string& json, LabRun& into);

}  // namespace gs::lab
