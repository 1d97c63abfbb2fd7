// Predictor: the engine's part that predicts the viewport's time on other GPUs: it draws the frame
// once more with counters, and asks the performance model (profiler/predict) for every change of
// the question. It draws between two training steps; an answer stays until the next request or
// scene. Owned by the engine; commands call it there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/session/engine_context.h"
#include "app/session/shown_tint.h"
#include "app/session/viewer.h"
#include "panels/state/prediction_state.h"

namespace gs {

class Predictor final : public PartWith<ShownTint> {
  public:
    using PartWith::PartWith;

    /// Counts the request's picture: of the whole photo's size where a capture camera is shown,
    /// else of the size asked for. Answered through SessionView::prediction.
    void measure(const Shown& shown, const ViewRequest& request);
    /// GPUs to predict for, such as "h200,rtx4090"; reports unknown names.
    void gpus(const std::string& list);
    /// What is set in `change` is asked from now on; the rest stays.
    void what_if(const WhatIf& change);
    /// Asks for what was drawn again.
    void as_drawn();
    void map(bool on);
    /// A training step, else a frame.
    void step(bool on);
    /// Counts are of one model.
    void scene_changed(SceneChange change) override;

  private:
    void choose_first();
    void publish();

    std::optional<KernelCosts> costs_;  // read with the first question
    std::vector<GpuDevice> known_, chosen_;
    std::optional<PredictedWork> counted_;
    PredictionState state_;
};

}  // namespace gs
