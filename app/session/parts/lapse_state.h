// State of the Time lapse panel: a run's pictures, their interval and their cost. For the open run,
// or the folder of a finished one. Called by Training.
#pragma once

#include <memory>

#include "app/session/loading.h"
#include "panels/state/scene_state.h"
#include "trainer/run/time_lapse.h"

namespace gs {

/// Null: `scene` is no run.
std::shared_ptr<const TimeLapseState> lapse_state(const LoadedScene& scene);
/// Its cameras and their pictures; empty: none.
std::vector<LapseView> lapse_views(const LoadedScene& scene);

}  // namespace gs
