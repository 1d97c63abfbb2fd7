// The Values panel: the number that Gaussians are coloured by, its histogram, and a brush over it
// that chooses the range of the colours, or of what is drawn.
#pragma once

#include "panels/state/command.h"
#include "panels/state/gaussian_values.h"
#include "panels/state/snapshot.h"

namespace gs {

struct ValuesPanel {
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    void brush(const GaussianValues& values, const ColorBy& by, Commands& commands);

    double from_ = 0;  // where the drag over the histogram began, 0..1
};

}  // namespace gs
