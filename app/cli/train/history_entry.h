// The history entry of `bench` and `train`: one point of every stage's median, and of their other
// measurements.
#pragma once

#include <optional>
#include <string>

#include "app/cli/report.h"
#include "base/expected.h"
#include "profiler/history/history.h"

namespace gs::cli {

/// Opens --history's file, if any, before the work, so that an invalid file is refused at once.
Result<std::optional<history::History>> history_of(const std::string& file);

/// Adds the JSON of a bench, or the summary of a training, as of now. `config`: how it was done,
/// the same words for the same thing. A history that cannot be written is only a warning.
void add_to_history(std::optional<history::History>& file, const std::string& job,
                    const std::string& config, const Json& result);

}  // namespace gs::cli
