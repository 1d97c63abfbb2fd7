// Exposure: the learned exposures and white balances of the photos, as curves and as a table, and
// the cameras' vignettes and tone curves. Click a photo to go to it. A tab of the workspace.
#pragma once

#include <memory>

#include "panels/state/command.h"
#include "panels/state/photo_looks.h"
#include "panels/widgets/plot.h"

namespace gs {

struct ExposurePanel {
    void draw(const Snapshot& snapshot, Commands& commands);

    int camera = 0;  ///< whose curves are shown
    PlotRange photos{}, across{}, tone{};

  private:
    void shape(const Snapshot& snapshot);
    void draw_curves(float height);
    void draw_table(const Snapshot& snapshot, Commands& commands);

    std::shared_ptr<const PhotoLooks> looks_;
    std::vector<CurvePoint> exposure_, red_, blue_;  // stops, by photo
};

}  // namespace gs
