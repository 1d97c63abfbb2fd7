// What the Time lapse panel shows of a run: its pictures, how often they are taken, what they cost.
// Of the run that is open, or of the folder that a finished one left. Called by Training.
#pragma once

#include <memory>

#include "app/session/loading.h"
#include "panels/state/scene_state.h"
#include "trainer/time_lapse.h"

namespace gs {

/// Null: `scene` is no run.
std::shared_ptr<const TimeLapseState> lapse_state(const LoadedScene& scene);
/// Its cameras and their pictures; empty: none.
std::vector<LapseView> lapse_views(const LoadedScene& scene);

}  // namespace gs
