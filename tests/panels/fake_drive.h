// A lidar's drive, made up: a car that turns into a street between two walls, with a model that has
// most of it. For the Drive panel and the viewport.
#pragma once

#include "panels/state/drive_state.h"

namespace gs::test {

/// 24 sweeps, the seventh chosen. `returns` false: nothing came back of it. `drawn` false: there is
/// no model.
DriveState fake_drive(SweepChannel channel = SweepChannel::range, bool drawn = true,
                      bool returns = true);

}  // namespace gs::test
