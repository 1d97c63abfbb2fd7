// Measure: distances between points of the scene, in metres once one length is known, and the up
// direction. All of it is saved with the scene. A tab of the workspace.
#pragma once

#include "panels/state/command.h"
#include "panels/state/snapshot.h"

namespace gs {

struct MeasurePanel {
    void draw(const Snapshot& snapshot, Commands& commands);

  private:
    void draw_distances(const MeasureState& measured, Commands& commands);
    void draw_scale(const MeasureState& measured, Commands& commands);
    void draw_up(const Snapshot& snapshot, const MeasureState& measured, Commands& commands);

    std::size_t chosen_ = 0;  ///< distance used for scale and up, from 1; 0: the last
    double metres_ = 1;       ///< typed
};

}  // namespace gs
