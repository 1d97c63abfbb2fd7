// The Costs panel: what the picture costs forward and backward, a region of it, the Gaussians that
// make others work, and what would be without these.
#pragma once

#include "panels/state/command.h"
#include "panels/state/cost_report.h"
#include "panels/state/snapshot.h"

namespace gs {

struct CostsPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    int without_ = 100;  // how many to leave out
};

}  // namespace gs
