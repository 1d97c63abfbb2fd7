// Makes the report of a training run from its folder: run.json, metrics.json, metrics.csv,
// thumbnails, notes. Called by `gausscope report`.
#pragma once

#include "app/bundle/report.h"

namespace gs {

/// Skips missing or damaged files and lists them in Report::subtitle. With `examine` the doctor
/// reads and examines the model. Errors (usage): the folder contains no run.
Result<Report> report_of_run(const fs::path& folder, bool examine);

}  // namespace gs
