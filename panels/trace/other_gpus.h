// Other GPUs: predicted times of the picture or a training step on other GPUs, stage by stage,
// beside this machine's measurement and lower bound; what-ifs, and changes that would help.
// *Predicted* (docs/model.md). A view of the Stages panel.
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
