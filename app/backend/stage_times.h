// Stage times of a run for metrics.json. Train and the studio pass it to each run they start.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace gs {

/// [{name, ms_mean, ms_p50, ms_p95, ms_p99, share, samples, calls}] over the newest steps that this
/// process's ring still holds: a thousand and more.
nlohmann::ordered_json newest_stage_times();

}  // namespace gs
