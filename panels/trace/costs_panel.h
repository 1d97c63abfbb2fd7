// The Costs panel: the forward and backward cost of the picture and of a region, the most expensive
// Gaussians, and the savings without them.
#pragma once

#include "panels/state/command.h"
#include "panels/state/cost_report.h"
#include "panels/state/snapshot.h"

namespace gs {

struct CostsPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    int without_ = 100;  // number of Gaussians to omit
};

}  // namespace gs
