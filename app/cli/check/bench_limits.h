// Prints the bench's second table: every stage's time against this machine's lower bound, and the
// machine's limits. Called by bench.cpp.
#pragma once

#include <span>

#include "app/backend/limits.h"
#include "app/cli/report.h"

namespace gs::cli {

/// Figures that were not measured are null. Times are measured, everything else is derived from
/// counts and layouts.
Json ceilings_json(const Ceilings& ceilings);
Table limits_table(std::span<const StageCost> limits);

/// The same as text.
void say_ceilings(const Json& ceilings);
void say_limits(const Table& limits);

}  // namespace gs::cli
