// Predicted times, made up: for the panel tests and the gallery.
#pragma once

#include <memory>

#include "panels/state/prediction_state.h"

namespace gs::test {

/// Two GPUs of three, all stages of a step, tiles with costs; of the view of `camera`.
std::shared_ptr<const PredictionState> fake_prediction(const Camera& camera);

}  // namespace gs::test
