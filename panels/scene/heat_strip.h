// Heat strip: each photo's error over the training steps, one row per photo, so that photos which
// stay bad or get worse stand out. Part of the Problems panel.
#pragma once

#include <memory>
#include <vector>

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

/// The value last known at the end of each of `columns` equal spans of first..last; NaN before the
/// first point.
std::vector<float> values_over_time(const std::vector<CurvePoint>& points, double first,
                                    double last, int columns);

struct HeatStrip {
    /// Fills the rest of the window; click a photo to go to it.
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    void take_range(const Snapshot& snapshot);
    void draw_row(const CameraRow& row, const Snapshot& snapshot, Commands& commands);

    // Range of all points; computed again when they change.
    std::shared_ptr<const std::vector<CameraRow>> ranged_;
    bool ranged_loss_ = false;
    double lo_ = 0, hi_ = 1, first_ = 0, last_ = 1;
    bool any_ = false;
};

}  // namespace gs
