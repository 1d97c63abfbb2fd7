// The report of the open session: the same page as a run's (app/bundle/run_report.h), from the
// current state. For bundles.
#pragma once

#include "app/bundle/report.h"
#include "app/studio/studio_state.h"
#include "profiler/store/store.h"

namespace gs {

/// Without the viewport's picture, which the engine adds.
Report session_report(const StudioState& state, const TraceStore& trace);
/// "curve,step,value" lines of all curves.
std::string curves_csv(const Curves& curves);

}  // namespace gs
