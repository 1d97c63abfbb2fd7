// The bench's second table: every stage's time against the least this machine needs for it, and
// what the machine can do at most. Called by bench.cpp.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "app/backend/limits.h"

namespace gs::cli {

void print_ceilings(const Ceilings& ceilings);
void print_limits(std::span<const StageLimit> limits);
/// Figures that were not measured are null. Times are measured, everything else is derived from
/// counts and layouts.
nlohmann::ordered_json ceilings_json(const Ceilings& ceilings);
nlohmann::ordered_json limits_json(std::span<const StageLimit> limits);

}  // namespace gs::cli
