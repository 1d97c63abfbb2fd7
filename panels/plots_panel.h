// Plots: the run's curves over one step axis: loss, PSNR, SSIM, count, time per iteration, learning
// rate; marks of edits. A tab of the workspace.
#pragma once

#include <array>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"
#include "panels/widgets/plot.h"

namespace gs {

struct PlotsPanel {
    enum Kind : std::size_t { loss, psnr, ssim, count, speed, rate, kinds };

    void draw(const Snapshot& snapshot, Commands& commands);

    std::array<bool, kinds> shown{true, true, false, false, false, false};
    std::array<bool, kinds> logarithmic{true, false, false, false, false, true};
    PlotRange range;

  private:
    void draw_grid(const Curves& curves);
};

}  // namespace gs
