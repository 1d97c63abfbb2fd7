// Other GPUs: how long the picture, or a training step, would take on GPUs that are not here, stage
// by stage beside what was measured on this machine and its floor; what-ifs, and what would change
// it. *Predicted* (docs/model.md). A view of the Stages panel.
#pragma once

#include "panels/state/command.h"
#include "panels/state/prediction_state.h"
#include "panels/state/snapshot.h"

namespace gs {

struct OtherGpus {
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    void draw_head(const PredictionState& state, Commands& commands);
    void draw_what_if(const PredictionState& state, Commands& commands);
    void draw_table(const PredictionState& state, const StageCosts* measured) const;
    void draw_otherwise(const PredictionState& state) const;
    double gaussians_ = 0;  // while the slider is held
};

}  // namespace gs
