// The Values panel: the value that Gaussians are coloured by, its histogram, and a brush over it
// that sets the range of the colours, or of the drawn Gaussians.
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
