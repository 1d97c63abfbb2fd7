// Makes the report of a training run from its folder: run.json, metrics.json, metrics.csv,
// thumbnails, notes. Called by `gausscope report`.
#pragma once

#include "app/bundle/report.h"

namespace gs {

/// What is missing or damaged is left out, and said in Report::subtitle. With `examine` the doctor
/// looks at the model, which takes reading it. Errors (usage): the folder holds no run.
Result<Report> report_of_run(const fs::path& folder, bool examine);

}  // namespace gs
