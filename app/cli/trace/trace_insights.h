// Prints insights and comparisons of traces for `gausscope trace`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/expected.h"
#include "profiler/store/store.h"

namespace gs::cli {

/// The insights of a trace, on stdout and as JSON. `baseline`: an earlier trace for the rule on
/// regressions; `history`: what the job took before, for the same rule; both may be empty. Errors:
/// one of them cannot be read.
Result<nlohmann::ordered_json> print_insights(const TraceStore& store, const std::string& baseline,
                                              const std::string& history);

/// Both traces side by side. Returns the exit code.
int compare_traces(const std::string& a, const std::string& b, bool json);

}  // namespace gs::cli
