// Prints the results of train and eval as text.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "trainer/settings/trainer_types.h"

namespace gs::cli {

/// A line per image (at most 50) and the means, on stdout; "-" where nothing was measured.
void print_scores(const Evaluation& evaluation);
/// `machine` as in metrics.json. Nothing unless the machine had other things to do.
void print_disturbance(const nlohmann::ordered_json& machine);

}  // namespace gs::cli
