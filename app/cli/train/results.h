// Prints scores as text. Called by train and eval.
#pragma once

#include "trainer/settings/trainer_types.h"

namespace gs::cli {

/// A line per image (at most 50) and the means, on stdout; "-" where nothing was measured.
void print_scores(const Evaluation& evaluation);

}  // namespace gs::cli
